#!/usr/bin/env python3
"""What was committed in several repositories.

usage: git_week.py [--days N] [--author TEXT] DIR [DIR ...]      each DIR is a repository or holds repositories one level down
"""
import argparse
import os
import subprocess


def git(repo, *words):
    done = subprocess.run(["git", "-C", repo, *words], capture_output=True, text=True, encoding="utf-8", errors="replace")
    return done.stdout.strip() if done.returncode == 0 else ""


def main():
    args = argparse.ArgumentParser(usage=__doc__)
    args.add_argument("--days", type=int, default=7)
    args.add_argument("--author", default="")
    args.add_argument("dirs", nargs="+")
    args = args.parse_args()
    repos = []
    for directory in args.dirs:
        inner = [directory] + [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
        repos += [path for path in inner if os.path.exists(os.path.join(path, ".git"))]
    total = 0
    for repo in dict.fromkeys(repos):
        log = git(repo, "log", "--all", "--no-merges", f"--since={args.days} days ago", f"--author={args.author}",
                  "--date=short", "--format=%ad %h %s")
        dirty = len(git(repo, "status", "--porcelain").splitlines())
        ahead = git(repo, "rev-list", "--count", "@{upstream}..HEAD")
        if not log and not dirty:
            continue
        commits = log.splitlines()
        total += len(commits)
        print(f"{os.path.basename(os.path.abspath(repo))}: {len(commits)} commits"
              + (f", {dirty} uncommitted files" if dirty else "") + (f", {ahead} unpushed" if ahead not in ("", "0") else ""))
        for line in sorted(set(commits)):
            print("  " + line)
    print(f"{total} commits in {args.days} days")


main()

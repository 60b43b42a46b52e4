"""The Python program's own list of skills, timed in milliseconds on the home that ours is timed on."""

import json
import sys
import time

from agent.prompt_builder import build_skills_system_prompt, clear_skills_system_prompt_cache


def timed(clear_snapshot):
    clear_skills_system_prompt_cache(clear_snapshot=clear_snapshot)
    start = time.perf_counter()
    text = build_skills_system_prompt()
    return (time.perf_counter() - start) * 1000, text


cold, warm, text = [], [], ""
for _ in range(int(sys.argv[1])):
    cold.append(timed(True)[0])
    taken, text = timed(False)
    warm.append(taken)
start = text.find("<available_skills>")
print(json.dumps({"cold": cold, "warm": warm, "bytes": len(text[start:].encode())}))

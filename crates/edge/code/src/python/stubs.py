def web_search(query, limit=5):
    """Searches the web: {"success", "data": {"web": [{"title", "url", "description", "position"}]}}"""
    return _call("web_search", query=query, limit=limit)


def web_extract(urls):
    """The text of web pages: {"results": [{"url", "title", "content", "error"}]}"""
    return _call("web_extract", urls=urls)


def read_file(path, offset=1, limit=500):
    """Lines of a file, each as NUMBER|TEXT: {"content", "total_lines", "truncated", ...}"""
    return _call("read_file", path=path, offset=offset, limit=limit)


def write_file(path, content):
    """Writes a whole file: {"bytes_written", ...}"""
    return _call("write_file", path=path, content=content)


def search_files(
    pattern,
    target="content",
    path=".",
    file_glob=None,
    limit=50,
    offset=0,
    output_mode="content",
    context=0,
):
    """Searches in files, or for files with target="files": {"total_count", "matches" or "files" or "counts"}"""
    return _call(
        "search_files",
        pattern=pattern,
        target=target,
        path=path,
        file_glob=file_glob,
        limit=limit,
        offset=offset,
        output_mode=output_mode,
        context=context,
    )


def patch(path=None, old_string=None, new_string=None, replace_all=False, mode="replace", patch=None):
    """Replaces text in a file, or applies a patch with mode="patch": {"success", "diff", ...}"""
    return _call(
        "patch",
        mode=mode,
        path=path,
        old_string=old_string,
        new_string=new_string,
        replace_all=replace_all,
        patch=patch,
    )


def terminal(command, timeout=None, workdir=None):
    """Runs a shell command to its end: {"output", "exit_code", "error"}"""
    return _call("terminal", command=command, timeout=timeout, workdir=workdir)

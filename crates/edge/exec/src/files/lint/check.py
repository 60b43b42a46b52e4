import sys
try:
    compile(sys.stdin.buffer.read(), "file", "exec", 0x400, True)
except (SyntaxError, ValueError) as error:
    where = f" (line {error.lineno}, column {error.offset})" if getattr(error, "lineno", None) else ""
    print(f"{type(error).__name__}: {getattr(error, 'msg', error)}{where}")
    sys.exit(65)

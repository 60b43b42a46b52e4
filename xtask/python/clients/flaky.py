"""A flaky MCP server to check a client against: flaky.start(PROGRAM, OPTIONS)."""

import json
import subprocess
import tempfile
import urllib.request


class Server:
    def __init__(self, program, options):
        self.program = program
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(options, file)
            file.flush()
            self.process = subprocess.Popen([program, "serve", file.name], stdout=subprocess.PIPE, text=True)
            places = json.loads(self.process.stdout.readline())
        self.url, self.sse, self.control = places["url"], places["sse"], places["control"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def counters(self):
        return self._ask(urllib.request.Request(self.control + "/counters"))

    def wish(self, **wishes):
        """POST /control."""
        return self._ask(urllib.request.Request(self.control + "/control", json.dumps(wishes).encode()))

    def stdio(self):
        """Program and arguments of a child that belongs to this server."""
        return self.program, ["stdio", self.control.removeprefix("http://")]

    @staticmethod
    def _ask(request):
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)


def start(program, **options):
    return Server(program, options)

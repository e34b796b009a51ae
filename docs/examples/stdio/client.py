#!/usr/bin/env python3
"""A client of `carrel stdio`: start a session, run commands, answer, undo, redo."""
import json, queue, subprocess, sys, threading


class Carrel:
    def __init__(self, *args):
        self.proc = subprocess.Popen(["carrel", "stdio", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number, self.answers, self.events = 0, {}, queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.proc.stdout:
            message = json.loads(line)
            if message["type"] == "response":
                self.answers.setdefault(message["request_id"], queue.Queue()).put(message)
            else:
                self.events.put(message)

    def request(self, kind, **payload):
        self.number += 1
        waits = self.answers.setdefault(str(self.number), queue.Queue())
        line = {"type": kind, "request_id": str(self.number), "payload": payload}
        self.proc.stdin.write(json.dumps(line).encode() + b"\n")
        self.proc.stdin.flush()
        answer = waits.get(timeout=60)
        if answer["status"] != "ok":
            raise RuntimeError(answer["error"])
        return answer.get("payload", {})

    def event(self, kind, **fields):
        while True:  # the next one of that kind with these fields; others are dropped
            e = self.events.get(timeout=60)
            if e["type"] == "event." + kind and all(e["payload"].get(k) == v for k, v in fields.items()):
                return e["payload"]

    def run(self, command):
        started = self.request("agent.execute", command=command)
        return self.event("step_completed", command_id=started["command_id"])

    def close(self):
        self.proc.stdin.close()
        return self.proc.wait(60)


if __name__ == "__main__":
    c = Carrel("--working-dir", sys.argv[1] if len(sys.argv) > 1 else ".")
    print("workspace", c.request("session.start")["workspace"])
    done = c.run("date > made-by-the-example && cat made-by-the-example")
    print("step", done["step_id"], "changed", done["affected_paths"])
    print("took back", c.request("undo.rollback", count=1)["removed"])
    print("ended with status", c.close())

import http.server, subprocess, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"logged in"); print("callback", self.path, flush=True)
    def log_message(self, *a): pass
s = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), H)
r = subprocess.run(["xdg-open", "https://example.com/authorize?client=x&redirect_uri=http%3A%2F%2Flocalhost%3A" + sys.argv[1] + "%2Fcb"], stderr=subprocess.DEVNULL)
print("opened", r.returncode, flush=True)
s.handle_request()

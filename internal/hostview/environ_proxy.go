package hostview

// proxyVariables name the proxy for programs that know one, in the spellings
// that they look for. SOCKS is named by none: a program with a library that has no
// SOCKS ends at its start when it reads such a value (httpx of Python, and with
// it the clients of most model providers). Java and Node (NODE_USE_ENV_PROXY, in
// version 22) print a line at each start when they are given one, and need none,
// nor does ssh: see sandbox.Pool.
var proxyVariables = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "WS_PROXY", "WSS_PROXY",
	"http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "ws_proxy", "wss_proxy",
	"npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY",
	"BUNDLE_HTTP_PROXY", "BUNDLE_HTTPS_PROXY", "PIP_PROXY", "CARGO_HTTP_PROXY",
}

// noProxy is what is reached without the proxy.
const noProxy = "localhost,127.0.0.1,::1"

// ProxyEnv is the environment of programs that reach the network through an HTTP proxy at
// ADDRESS:PORT alone.
func ProxyEnv(address string) map[string]string {
	env := map[string]string{"NO_PROXY": noProxy, "no_proxy": noProxy, "ELECTRON_GET_USE_PROXY": "true"}
	for _, name := range proxyVariables {
		env[name] = "http://" + address
	}
	return env
}

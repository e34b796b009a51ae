package agents

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/policy"
)

// Endpoint is a server that the user's settings name for an agent, beside the
// hosts that it is known to need.
type Endpoint struct {
	Rule string // a host rule for it, "" where it is on the host itself
	Port uint16 // of the host's loopback, where it is there
	By   string // the variable or the file that names it
}

// Endpoints returns the servers that variables name: addresses of a model in
// place of the maker's, and the regions of clouds that serve it. lookup says
// what a variable is inside, and whether it exists there.
func (a Agent) Endpoints(lookup func(name string) (string, bool)) []Endpoint {
	var out []Endpoint
	for _, name := range a.EnvPass {
		v, ok := lookup(name)
		if !ok || !namesServer(name) {
			continue
		}
		if name == ollama && !strings.Contains(v, ":") {
			v += ":11434" // its own default
		}
		out = appendEndpoint(out, v, name)
	}
	for _, cloud := range clouds {
		region, ok := lookup(cloud.region)
		if _, on := lookup(cloud.on); !on || !ok || !slices.Contains(a.EnvPass, cloud.on) || strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			continue
		}
		for _, host := range cloud.hosts {
			out = appendEndpoint(out, "https://"+strings.ReplaceAll(host, "REGION", region), cloud.region)
		}
	}
	return out
}

// clouds serve an agent's model under names that hold a region.
var clouds = []struct {
	on, region string
	hosts      []string
}{
	{"CLAUDE_CODE_USE_BEDROCK", "AWS_REGION", []string{"bedrock-runtime.REGION.amazonaws.com", "bedrock.REGION.amazonaws.com"}},
	{"CLAUDE_CODE_USE_VERTEX", "CLOUD_ML_REGION", []string{"REGION-aiplatform.googleapis.com", "aiplatform.googleapis.com", "oauth2.googleapis.com"}},
	{"GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_LOCATION", []string{"REGION-aiplatform.googleapis.com"}},
}

// namesServer tells whether a variable holds the address of a server.
func namesServer(name string) bool {
	return strings.HasSuffix(name, "_BASE_URL") || strings.HasSuffix(name, "_API_BASE") || name == ollama
}

const ollama = "OLLAMA_HOST"

// SettingsFiles are the files of the agent's own settings outside, relative to
// home, that may name servers. A last component may be a pattern, as in Config.
func (a Agent) SettingsFiles() []string {
	var files []string
	for _, f := range a.Config {
		if slices.Contains([]string{".json", ".jsonc", ".toml", ".yml", ".yaml", ".env"}, path.Ext(f)) {
			files = append(files, f)
		}
	}
	for _, part := range a.JSON {
		files = append(files, part.Host)
	}
	return files
}

// server finds keys that name one in JSON, TOML, YAML and lines NAME=VALUE. A
// quote behind a backslash is inside of some text.
var server = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)(?:^|[\s{,"'])[\w.-]*(?:base_?url|api[_-]base|api[_-]?host|ollama_host|http_?url|server_?url|endpoint|\burl)["']?\s*[:=]\s*["']?(https?://[^\s"'\\,}]+)`)
})

// EndpointsIn returns the servers that a settings file names: of a file whose
// keys are taken over one by one, in those keys only.
func (a Agent) EndpointsIn(file string, data []byte) []Endpoint {
	var out []Endpoint
	for _, part := range a.JSON {
		if part.Host == file {
			data = onlyKeys(data, slices.Concat(part.Mirror, part.Follow))
		}
	}
	for _, m := range server().FindAllSubmatch(data, maxEndpoints) {
		out = appendEndpoint(out, string(m[1]), "~/"+file)
	}
	return out
}

// maxEndpoints bounds what one file may name.
const maxEndpoints = 64

// onlyKeys is an object's text without its other keys; nothing of what is none.
func onlyKeys(data []byte, keys []string) []byte {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return nil
	}
	var out []byte
	for _, k := range keys {
		out = append(append(out, object[k]...), '\n')
	}
	return out
}

// appendEndpoint adds the server of a URL, or of HOST:PORT. What is neither is
// left to the agent to complain about.
func appendEndpoint(list []Endpoint, text, by string) []Endpoint {
	host, port, ok := serverOf(strings.TrimSpace(text))
	if !ok {
		return list
	}
	e := Endpoint{By: by, Port: port}
	if !onLoopback(host) {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		e = Endpoint{By: by, Rule: host + ":" + strconv.Itoa(int(port))}
	}
	if e.Rule != "" && policy.CheckHostRule(e.Rule, true) != nil {
		return list
	}
	if slices.ContainsFunc(list, func(o Endpoint) bool { return o.Rule == e.Rule && o.Port == e.Port }) {
		return list
	}
	return append(list, e)
}

func serverOf(text string) (host string, port uint16, ok bool) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", 0, false
	}
	if host, err = policy.NormalHost(u.Hostname()); err != nil {
		return "", 0, false
	}
	number := u.Port()
	switch {
	case number != "":
	case u.Scheme == "https":
		number = "443"
	default:
		number = "80"
	}
	n, err := strconv.ParseUint(number, 10, 16)
	return host, uint16(n), err == nil && n != 0
}

func onLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (a.IsLoopback() || a.IsUnspecified())
}

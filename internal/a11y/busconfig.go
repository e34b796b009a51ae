package a11y

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"carrel/internal/dbus"
)

// services are what a private session bus starts when somebody asks for it: the
// accessibility bus, and the store of settings that most GTK programs read and
// write at their start. Portals, keyrings, gvfs and their like are the user's own
// and no program's that works for somebody else.
var services = []string{"org.a11y.Bus", "ca.desrt.dconf"}

// BusServiceFile is the one of [ServiceFiles] that starts the accessibility bus.
const BusServiceFile = busService + ".service"

// serviceDirs are where a system keeps what its session bus starts.
var serviceDirs = []string{"usr/share/dbus-1/services", "usr/local/share/dbus-1/services"}

// ServicesName is the directory beside the session bus's socket that [BusConfig]
// has services looked for in.
const ServicesName = "services"

// BusConfig renders the configuration of a private session bus that listens at
// socketPath and starts nothing but what lies in the directory [ServicesName]
// beside it, see [ServiceFiles]. Whoever reaches the socket is let in: what keeps
// others away is the directory that it lies in.
func BusConfig(socketPath string) []byte {
	return fmt.Appendf(nil, `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <keep_umask/>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <servicedir>%s</servicedir>
  <policy context="default">
    <allow user="*"/>
    <allow send_destination="*"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <allow own="*"/>
  </policy>
  <limit name="max_message_size">33554432</limit>
  <limit name="max_incoming_bytes">134217728</limit>
  <limit name="max_outgoing_bytes">134217728</limit>
  <limit name="max_completed_connections">1000</limit>
  <limit name="max_connections_per_user">1000</limit>
  <limit name="max_pending_service_starts">100</limit>
  <limit name="max_match_rules_per_connection">5000</limit>
  <limit name="max_replies_per_connection">10000</limit>
  <limit name="service_start_timeout">30000</limit>
</busconfig>
`, escapeXML(dbus.EscapeAddress(socketPath)), escapeXML(path.Join(path.Dir(socketPath), ServicesName)))
}

// ServiceFiles returns what the services directory should hold, by file name: of
// each service that the system has (host is its root) the name and the command,
// and nothing of systemd, which is not there inside. Where the map has no
// org.a11y.Bus.service, the system has no accessibility (package at-spi2-core).
func ServiceFiles(host fs.FS) map[string][]byte {
	files := make(map[string][]byte)
	for _, name := range services {
		if exec := serviceExec(host, name); exec != "" {
			files[name+".service"] = fmt.Appendf(nil, "[D-BUS Service]\nName=%s\nExec=%s\n", name, exec)
		}
	}
	return files
}

// serviceExec returns the command that starts a service of the system, "" for none.
func serviceExec(host fs.FS, name string) string {
	for _, dir := range serviceDirs {
		b, err := fs.ReadFile(host, path.Join(dir, name+".service"))
		if err != nil {
			continue
		}
		if exec := serviceCommand(b); exec != "" {
			return exec
		}
	}
	return ""
}

// serviceCommand returns the Exec of a service file.
func serviceCommand(b []byte) string {
	group := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			group = line
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && group == "[D-BUS Service]" && strings.TrimSpace(key) == "Exec" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func escapeXML(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}

package policy

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Permissions is what one ceiling means, in the form of its file: what limits nothing is
// left out, and lists are sorted.
type Permissions struct {
	Network      *NetworkPermissions  `json:"network,omitempty"`
	Mounts       []MountPermission    `json:"mounts,omitempty"`
	Apps         *AppPermissions      `json:"apps,omitempty"`
	HostCommands []string             `json:"host_commands,omitempty"`
	Display      *DisplayPermissions  `json:"display,omitempty"`
	Isolation    Isolation            `json:"isolation,omitempty"`
	Home         HomeMode             `json:"home,omitempty"`
	Nested       Nesting              `json:"nested,omitempty"`
	History      HistoryMode          `json:"history,omitempty"`
	Secrets      SecretsMode          `json:"secrets,omitempty"`
	AgentHome    AgentHomeMode        `json:"agent_home,omitempty"`
	Undo         UndoMode             `json:"undo,omitempty"`
	Virtual      *VirtualPermissions  `json:"virtual_commands,omitempty"`
	OpenURLs     LinkMode             `json:"open_urls,omitempty"`
	Devices      []string             `json:"devices,omitempty"`
	Resources    *ResourcePermissions `json:"resources,omitempty"`
	Expires      string               `json:"expires,omitempty"` // RFC 3339, UTC
	Credentials  CredentialsMode      `json:"credentials,omitempty"`
}

// NetworkPermissions are those of the network. Of the lists that are pointers an empty
// one means none, and no list no limit.
type NetworkPermissions struct {
	Mode        NetworkMode `json:"mode,omitempty"`
	AllowHosts  []string    `json:"allow_hosts,omitempty"`
	DenyHosts   []string    `json:"deny_hosts,omitempty"`
	HostPorts   *[]uint16   `json:"host_ports,omitempty"`
	Publish     *[]string   `json:"publish,omitempty"`
	UnixSockets *[]string   `json:"unix_sockets,omitempty"`
	OnUnknown   OnUnknown   `json:"on_unknown,omitempty"`
}

// MountPermission is one directory of the host.
type MountPermission struct {
	HostPath      string `json:"host_path"`
	WorkspacePath string `json:"workspace_path,omitempty"`
	Mode          string `json:"mode"`
}

// AppPermissions are the programs that may be launched.
type AppPermissions struct {
	Allow []string `json:"allow"`
}

// DisplayPermissions are those of the display.
type DisplayPermissions struct {
	Mode      DisplayMode   `json:"mode,omitempty"`
	Clipboard ClipboardMode `json:"clipboard,omitempty"`
}

// VirtualPermissions are the built-in commands that reach the person outside.
type VirtualPermissions struct {
	Sound  Switch `json:"sound,omitempty"`
	Notify Switch `json:"notify,omitempty"`
}

// ResourcePermissions are the most that may be used.
type ResourcePermissions struct {
	Timeout string `json:"timeout,omitempty"`
	Memory  int64  `json:"memory,omitempty"`
	Pids    int64  `json:"pids,omitempty"`
}

// Permissions gives the meaning of one ceiling, without those that hold beside it.
func (c *Ceiling) Permissions() Permissions {
	p := Permissions{
		Network: c.networkPermissions(), HostCommands: sortedValues(c.HostCommands), Devices: sortedValues(c.Devices),
		Home: limiting(c.Home, HomeFull), Nested: limiting(c.Nested, NestedFull), History: limiting(c.History, HistoryOff), Secrets: limiting(c.Secrets, SecretsMasked), Undo: limiting(c.Undo, UndoAll),
		OpenURLs:    limiting(c.OpenURLs, LinksBrowser),
		AgentHome:   limiting(c.AgentHome, AgentHomeShared),
		Isolation:   limiting(c.Isolation, IsolationNone),
		Credentials: limiting(c.Credentials, CredentialsOn),
	}
	for _, m := range c.Mounts {
		one := MountPermission{HostPath: path.Clean(m.HostPath), Mode: "read_only"}
		if m.Write {
			one.Mode = "read_write"
		}
		if m.WorkspacePath != "" && m.WorkspacePath != one.HostPath {
			one.WorkspacePath = m.WorkspacePath
		}
		p.Mounts = append(p.Mounts, one)
	}
	slices.SortFunc(p.Mounts, func(a, b MountPermission) int {
		return cmp.Or(strings.Compare(a.HostPath, b.HostPath), strings.Compare(a.WorkspacePath, b.WorkspacePath), strings.Compare(a.Mode, b.Mode))
	})
	p.Mounts = slices.Compact(p.Mounts)
	if list := sortedValues(c.ProgramsAllow); len(list) > 0 {
		p.Apps = &AppPermissions{Allow: list}
	}
	if d := (DisplayPermissions{Mode: limiting(c.Display, DisplayHost), Clipboard: limiting(c.Clipboard, ClipboardPaste)}); d != (DisplayPermissions{}) {
		p.Display = &d
	}
	if v := (VirtualPermissions{Sound: limiting(c.Sound, SwitchOn), Notify: limiting(c.Notify, SwitchOn)}); v != (VirtualPermissions{}) {
		p.Virtual = &v
	}
	r := ResourcePermissions{Memory: limiting(c.Memory, 0), Pids: limiting(c.Pids, 0)}
	if t := limiting(c.Timeout, 0); t != 0 {
		r.Timeout = t.String()
	}
	if r != (ResourcePermissions{}) {
		p.Resources = &r
	}
	if c.Expires != nil {
		p.Expires = c.Expires.V.UTC().Format(time.RFC3339Nano)
	}
	return p
}

// Restricted says whether the ceiling, or one beside it, limits anything.
func (c *Ceiling) Restricted() bool {
	return slices.ContainsFunc(c.All(), func(one *Ceiling) bool { return !one.Permissions().open() })
}

// open says that nothing is limited.
func (p Permissions) open() bool {
	return p.Network == nil && p.Mounts == nil && p.Apps == nil && p.HostCommands == nil && p.Display == nil && p.Isolation == "" && p.Home == "" && p.Nested == "" &&
		p.History == "" && p.Secrets == "" && p.AgentHome == "" && p.Undo == "" && p.Virtual == nil && p.OpenURLs == "" && p.Devices == nil && p.Resources == nil && p.Expires == "" && p.Credentials == ""
}

func (c *Ceiling) networkPermissions() *NetworkPermissions {
	n := NetworkPermissions{Mode: limiting(networkBound(c), NetOpen), AllowHosts: hostTexts(c.AllowHosts, true), DenyHosts: hostTexts(c.DenyHosts, false), OnUnknown: limiting(c.OnUnknown, UnknownAsk)}
	limited := n.Mode != ""
	if c.HostPorts != nil && (len(c.HostPorts) > 0 || !limited) {
		ports := []uint16{}
		for _, v := range c.HostPorts {
			ports = append(ports, v.V)
		}
		slices.Sort(ports)
		ports = slices.Compact(ports)
		n.HostPorts = &ports
	}
	if c.Publish != nil {
		list := []string{}
		for _, v := range c.Publish {
			list = append(list, publishText(v.V))
		}
		slices.Sort(list)
		list = slices.Compact(list)
		n.Publish = &list
	}
	if c.UnixSockets != nil && (len(c.UnixSockets) > 0 || !limited) {
		list := sortedValues(c.UnixSockets)
		if list == nil {
			list = []string{}
		}
		n.UnixSockets = &list
	}
	if n.Mode == "" && n.AllowHosts == nil && n.DenyHosts == nil && n.HostPorts == nil && n.Publish == nil && n.UnixSockets == nil && n.OnUnknown == "" {
		return nil
	}
	return &n
}

// hostTexts gives host rules in their one spelling, sorted.
func hostTexts(list []Value[string], allow bool) []string {
	list = slices.Clone(list)
	for i := range list {
		if rule, err := parseHostRule(list[i].V, allow); err == nil { // the others are presets
			list[i].V = rule.String()
		}
	}
	return sortedValues(list)
}

func publishText(p Publish) string {
	if p.Inside == p.Host {
		return strconv.Itoa(int(p.Inside))
	}
	return fmt.Sprintf("%d:%d", p.Inside, p.Host)
}

// limiting gives a value unless it is the widest there is.
func limiting[T comparable](v *Value[T], widest T) (none T) {
	if v == nil || v.V == widest {
		return none
	}
	return v.V
}

func sortedValues(list []Value[string]) []string {
	var out []string
	for _, v := range list {
		out = append(out, strings.Trim(v.V, " \t"))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

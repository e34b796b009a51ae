package lima

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// Network is what programs in a machine may reach. The relay's channel is no part of it.
type Network string

// A machine's commands reach nothing by its own network, or what the host reaches. Ports of the
// host and the supervisor's proxy are carried into a closed machine.
const (
	NetworkClosed Network = "closed"
	NetworkOpen   Network = "open"
)

// Agent is the user as whom commands run in a machine. Nothing there lets it become another.
const Agent = "carrel-agent"

// AgentID is the uid and gid of [Agent], clear of those that distributions give away.
const AgentID = 61184

// relayPath is where the relay lies in a machine.
const relayPath = "/usr/local/libexec/carrel-relay"

// readyPath is there when the script of the template has done all that it does at a start.
const readyPath = "/run/carrel-ready"

// Words in a machine's environment.
const (
	wordWorkspace = "CARREL_WORKSPACE"
	wordTemplate  = "CARREL_TEMPLATE"
)

// Image is a disk image with a system in it.
type Image struct {
	Location string // an URL or an absolute path
	Arch     string // aarch64 or x86_64
	Digest   string // sha256:..., "" where the place is trusted
}

// Arch is the architecture of this host, as limactl and QEMU name it.
func Arch() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64"
	}
	return "x86_64"
}

// Spec is what a template is made of.
type Spec struct {
	Workspace   string // an id, of letters, digits and "-"
	VMType      string // qemu or vz
	CPUs        int
	MemoryBytes int64
	DiskBytes   int64
	Images      []Image
	Network     Network
	Packages    []string // that the machine is given once, by the names of its distribution
	// Project is a directory that limactl mounts at its own path, where Carrel's own program works
	// in the machine; "" where it works outside, and serves the project itself.
	Project string
}

// check says what no template can be made of.
func (s *Spec) check() error {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	word := func(what, text, more string) error {
		if text == "" || len(text) > 200 || strings.Trim(text, plain+more) != "" {
			return fmt.Errorf("%s %q: letters, digits and %q are allowed", what, text, more)
		}
		return nil
	}
	if err := word("workspace", s.Workspace, "-"); err != nil {
		return err
	}
	switch {
	case s.VMType != "qemu" && s.VMType != "vz":
		return fmt.Errorf("machine type %q: it is qemu or vz", s.VMType)
	case s.Network != NetworkClosed && s.Network != NetworkOpen:
		return fmt.Errorf("network %q: a machine has closed or open", s.Network)
	case s.CPUs < 1 || s.CPUs > 1024:
		return fmt.Errorf("%d processors", s.CPUs)
	case s.MemoryBytes < 256<<20 || s.DiskBytes < 1<<30:
		return fmt.Errorf("a machine has 256 MiB of memory and 1 GiB of disk at least")
	case len(s.Images) == 0:
		return fmt.Errorf("a machine takes an image")
	case s.Project != "" && (!path.IsAbs(s.Project) || !oneLine(s.Project)):
		return fmt.Errorf("the project %q cannot be named in a template", s.Project)
	case s.Project != "" && s.Network == NetworkClosed:
		return fmt.Errorf("in a machine where Carrel works, it makes the network of each command")
	}
	for _, i := range s.Images {
		if i.Arch != "aarch64" && i.Arch != "x86_64" {
			return fmt.Errorf("architecture %q of an image: it is aarch64 or x86_64", i.Arch)
		}
		if i.Location == "" || !oneLine(i.Location) {
			return fmt.Errorf("place %q of an image", i.Location)
		}
		if i.Digest != "" {
			if err := word("digest", i.Digest, ":"); err != nil {
				return err
			}
		}
	}
	for _, p := range s.Packages {
		if err := word("package", p, "+-."); err != nil {
			return err
		}
	}
	return nil
}

// oneLine says that a text has nothing that would end it, or be another, in a template.
func oneLine(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd })
}

// Template gives the file from which limactl makes a machine, and its own mark.
func (s *Spec) Template() (text []byte, mark string, err error) {
	if err := s.check(); err != nil {
		return nil, "", err
	}
	body := s.body()
	sum := sha256.Sum256([]byte(body))
	mark = hex.EncodeToString(sum[:16])
	head := "# Made by carrel of a policy. Changes are lost: see `carrel lima recreate`.\n"
	words := fmt.Sprintf("env:\n  %s: %s\n  %s: %s\n", wordWorkspace, quoted(s.Workspace), wordTemplate, quoted(mark))
	return []byte(head + body + words), mark, nil
}

func (s *Spec) body() string {
	var b strings.Builder
	fmt.Fprintf(&b, "vmType: %s\nimages:\n", s.VMType)
	for _, i := range s.Images {
		fmt.Fprintf(&b, "- location: %s\n  arch: %s\n", quoted(i.Location), quoted(i.Arch))
		if i.Digest != "" {
			fmt.Fprintf(&b, "  digest: %s\n", quoted(i.Digest))
		}
	}
	fmt.Fprintf(&b, "cpus: %d\nmemory: %s\ndisk: %s\n", s.CPUs, quoted(mebibytes(s.MemoryBytes)), quoted(mebibytes(s.DiskBytes)))
	mounts, forwards := s.sharing()
	b.WriteString(mounts + `containerd:
  system: false
  user: false
ssh:
  loadDotSSHPubKeys: false
  forwardAgent: false
  forwardX11: false
` + forwards + `propagateProxyEnv: false
plain: ` + strconv.FormatBool(s.Project == "") + `
upgradePackages: false
video:
  display: none
audio:
  device: ""
provision:
- mode: system
  script: |
`)
	for line := range strings.Lines(s.provision()) {
		b.WriteString("    " + line)
	}
	return b.String()
}

// sharing is what the host and the machine have of each other. Where Carrel works in the machine
// that is the project, and the ports that it publishes there at 127.0.0.1: limactl forwards
// those where a template does not speak of ports, by an agent that no plain machine has.
func (s *Spec) sharing() (mounts, forwards string) {
	if s.Project == "" {
		return "mounts: []\n", `portForwards:
- guestIP: "0.0.0.0"
  guestIPMustBeZero: false
  guestPortRange: [1, 65535]
  proto: any
  ignore: true
`
	}
	by := "reverse-sshfs" // the kernels of images for clouds have no 9p
	if s.VMType == "vz" {
		by = "virtiofs"
	}
	at := quoted(s.Project)
	return fmt.Sprintf("mounts:\n- location: %s\n  mountPoint: %s\n  writable: true\nmountType: %s\n", at, at, by), ""
}

// provision is what runs in the machine as root whenever it starts. What commands may reach
// is held by the kernel there; their user has no way to be root.
func (s *Spec) provision() string {
	var b strings.Builder
	b.WriteString(`#!/bin/sh
set -eu
grep -q "$(hostname)" /etc/hosts || echo "127.0.1.1 $(hostname)" >>/etc/hosts
`)
	if s.Project == "" {
		fmt.Fprintf(&b, `getent group %[1]s >/dev/null || groupadd --gid %[2]d %[1]s
id -u %[1]s >/dev/null 2>&1 || useradd --uid %[2]d --gid %[2]d --create-home --shell /bin/sh %[1]s
`, Agent, AgentID)
	} else {
		b.WriteString(ownNamespaces)
	}
	need := append([]string(nil), s.Packages...)
	if s.Network == NetworkClosed {
		need = append(need, "nftables")
	}
	if len(need) > 0 {
		fmt.Fprintf(&b, `missing=
for name in %s; do dpkg -s "$name" >/dev/null 2>&1 || missing="$missing $name"; done
if [ -n "$missing" ]; then
  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
fi
`, strings.Join(need, " "))
	}
	if s.Network == NetworkClosed {
		b.WriteString(closedRules)
	}
	b.WriteString("touch " + readyPath + "\n")
	return b.String()
}

// ownNamespaces lets users make the namespaces that walls are made of, where a distribution
// keeps that for listed programs.
const ownNamespaces = `sysctl -q -w kernel.apparmor_restrict_unprivileged_userns=0 kernel.unprivileged_userns_clone=1 2>/dev/null || :
`

// closedRules let nothing out but answers to the host's own connections for shells, and the
// question for an address. No state of connections is asked for: the one that waits for the
// end of this script is older than what would be known of it. They hold for every user: a resolver would carry names out for
// the one as whom commands run. They are loaded before the network when the machine starts again.
const closedRules = `cat >/etc/nftables.conf <<'END'
flush ruleset
table inet carrel {
  chain out {
    type filter hook output priority 0; policy drop;
    oifname "lo" accept
    tcp sport 22 tcp flags & (syn | ack) != syn accept
    udp sport 68 udp dport 67 accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
    reject with icmpx admin-prohibited
  }
}
END
systemctl enable --quiet nftables
nft -f /etc/nftables.conf
`

func mebibytes(n int64) string { return strconv.FormatInt(n>>20, 10) + "MiB" }

// quoted is a scalar of YAML, which takes strings of JSON; the text has no control characters.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

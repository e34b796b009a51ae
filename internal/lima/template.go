package lima

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Network is what programs in a machine may reach. The relay's channel is no part of it.
type Network string

// A machine's commands reach nothing, or what the host reaches. Nothing is filtered yet: the
// way out through the supervisor's proxy is not carried into machines.
const (
	NetworkClosed Network = "closed"
	NetworkOpen   Network = "open"
)

// Agent is the user as whom commands run in a machine. Nothing there lets it become another.
const Agent = "carrel-agent"

// AgentID is the uid and gid of [Agent], clear of those that distributions give away.
const AgentID = 61184

// Where the relay lies in a machine.
const relayPath = "/usr/local/libexec/carrel-relay"

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
	}
	for _, i := range s.Images {
		if i.Arch != "aarch64" && i.Arch != "x86_64" {
			return fmt.Errorf("architecture %q of an image: it is aarch64 or x86_64", i.Arch)
		}
		if i.Location == "" || strings.ContainsFunc(i.Location, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
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
	b.WriteString(`mounts: []
containerd:
  system: false
  user: false
ssh:
  loadDotSSHPubKeys: false
  forwardAgent: false
  forwardX11: false
portForwards:
- guestIP: "0.0.0.0"
  guestIPMustBeZero: false
  guestPortRange: [1, 65535]
  proto: any
  ignore: true
propagateProxyEnv: false
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

// provision is what runs in the machine as root whenever it starts. What commands may reach
// is held by the kernel there; their user has no way to be root.
func (s *Spec) provision() string {
	var b strings.Builder
	fmt.Fprintf(&b, `#!/bin/sh
set -eu
id -u %[1]s >/dev/null 2>&1 || useradd --uid %[2]d --user-group --create-home --shell /bin/sh %[1]s
install -d -m 755 %[3]s
`, Agent, AgentID, relayPath[:strings.LastIndexByte(relayPath, '/')])
	need := append([]string(nil), s.Packages...)
	if s.Network == NetworkClosed {
		need = append(need, "nftables")
	}
	if len(need) > 0 {
		fmt.Fprintf(&b, `if [ ! -e /var/lib/carrel-packages ]; then
  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends %s
  touch /var/lib/carrel-packages
fi
`, strings.Join(need, " "))
	}
	if s.Network == NetworkClosed {
		b.WriteString(closedRules)
	}
	return b.String()
}

// closedRules let nothing out but answers to the host's own connections for shells, and the
// question for an address. They hold for every user: a resolver would carry names out for
// the one as whom commands run. They are loaded before the network when the machine starts again.
const closedRules = `cat >/etc/nftables.conf <<'END'
flush ruleset
table inet carrel {
  chain out {
    type filter hook output priority 0; policy drop;
    oifname "lo" accept
    tcp sport 22 ct state established accept
    udp sport 68 udp dport 67 accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
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

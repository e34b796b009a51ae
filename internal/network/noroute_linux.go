package network

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"carrel/internal/api"
)

// noRoute counts what programs inside sent to where no way leads: a network namespace
// without an interface refuses that in the kernel, where nobody else can see it. The
// counters outlive the processes of the namespace as long as the files are open.
type noRoute struct{ files []*os.File }

// The counters of proc_pid_net(5), from the kernel's snmp.c of IPv4 and proc.c of IPv6.
const (
	countersIPv4 = "net/snmp"
	countersIPv6 = "net/snmp6"
	maxCounters  = 1 << 16 // bytes of a file
)

// countNoRoute begins to count in the network namespace of a process. It gives nil where
// that is the one of this process.
func countNoRoute(pid int) *noRoute {
	at := "/proc/" + strconv.Itoa(pid) + "/"
	own, err := os.Readlink("/proc/self/ns/net")
	theirs, e := os.Readlink(at + "ns/net")
	if err != nil || e != nil || own == theirs {
		return nil
	}
	n := &noRoute{}
	for _, name := range []string{countersIPv4, countersIPv6} {
		if f, err := os.Open(at + name); err == nil { // there may be no IPv6
			n.files = append(n.files, f)
		}
	}
	return n
}

// end gives the count, and lets go.
func (n *noRoute) end() (count uint64) {
	if n == nil {
		return 0
	}
	for _, f := range n.files {
		if text, err := io.ReadAll(io.NewSectionReader(f, 0, maxCounters)); err == nil {
			count += noRoutes(text)
		}
		f.Close()
	}
	return count
}

// noRoutes reads the packets without a route from either file: one has a line of names and
// one of values for each protocol, the other a name and a value in each line.
func noRoutes(text []byte) (count uint64) {
	var names []string
	for line := range strings.Lines(string(bytes.TrimSpace(text))) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "Ip6OutNoRoutes":
			n, _ := strconv.ParseUint(fields[1], 10, 64)
			count += n
		case len(fields) > 0 && fields[0] == "Ip:" && names == nil:
			names = fields
		case len(fields) > 0 && fields[0] == "Ip:":
			for i := range min(len(names), len(fields)) {
				if names[i] == "OutNoRoutes" {
					n, _ := strconv.ParseUint(fields[i], 10, 64)
					count += n
				}
			}
		}
	}
	return count
}

// unreachable tells that programs wanted to reach a host, where there is no network.
func (n *Network) unreachable() {
	count := n.nowhere.end()
	if count == 0 {
		return
	}
	mode := n.c.Policy.Network
	times := "once"
	if count > 1 {
		times = fmt.Sprintf("%d times", count)
	}
	n.denials = append(n.denials, api.Denial{
		Code: api.CodeNetwork, Operation: "connect", Subject: "network " + string(mode),
		Message: fmt.Sprintf("the network is %s: a program inside tried to reach a host, %s", mode, times),
		Rule:    "network " + string(mode), Source: n.c.NetworkBy,
		Hint: "--allow-host NAME lets it reach one; --network api what a known agent cannot do without",
	})
}

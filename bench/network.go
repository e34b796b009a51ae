package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The ways of the network's suites. Both run the same program in the same
// walls; the second one's connections go by carrel's proxy.
const (
	wayDirect  = "direct"
	wayProxied = "proxied"
	proxyAt    = "198.18.0.1:3128"
)

// streams says how many are open at once in a suite, and how its rows are named.
var streams = []struct {
	kind, name string
}{{"stream", "one TLS stream"}, {"streams", strconv.Itoa(manyStreams) + " TLS streams"}}

// networkSuite has the tables of the network.
type networkSuite struct{ *bench }

// network has a server outside, on the host's loopback, and one of its tables
// measured. Where the server cannot be started, the table says so.
func (b *networkSuite) network(t table, measure func(t *table, server string)) table {
	s, err := newTLSServer()
	if err == nil {
		defer s.Close()
		err = b.networkPlace()
	}
	if err != nil {
		t.about += " Not measured: " + err.Error()
		return t
	}
	measure(&t, s.Addr().String())
	return t
}

func (b *networkSuite) networkDir() string { return b.fixture.root + "/network" }

// networkPlace makes the project of these suites: this program in a directory.
func (b *networkSuite) networkPlace() error {
	if _, err := os.Stat(b.networkDir()); err == nil {
		return nil
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("this program cannot be copied into the project: %w", err)
	}
	if err := mkdirs(b.networkDir()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.networkDir(), "driver"), self, 0o755)
}

// walled is a run with a network mode; the flags say what it may reach.
func (b *networkSuite) walled(name, mode string, flags []string, command ...string) *contender {
	argv := slices.Concat([]string{b.carrel, "run", "--network", mode}, flags, []string{"--"}, command)
	return &contender{name: name, dir: b.networkDir(), argv: argv}
}

// pair is a driver's job, direct and proxied.
func (b *networkSuite) pair(kind, name, server string) []*contender {
	job := []string{"./driver", "-net", kind, "-to", server}
	return []*contender{
		b.walled(name+", "+wayDirect, "open", nil, job...),
		b.walled(name+", "+wayProxied, "filtered", []string{"--allow-host", server}, append(job, "-by", proxyAt)...),
	}
}

// told runs a driver and gives the number that it prints.
func (b *networkSuite) told(c *contender) (float64, error) {
	out, err := output(c.dir, b.envOf(c), c.argv)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
	if err != nil {
		return 0, fmt.Errorf("it printed %q instead of a number", firstLine(out))
	}
	return v, nil
}

// networkSuites are all of them, in the order of the report.
func (b *networkSuite) networkSuites() []func() table {
	return []func() table{b.throughput, b.connections, b.latency, b.networkStart, b.networkMemory}
}

func (b *networkSuite) throughput() table {
	return b.network(table{title: "The network: throughput", unit: "MiB/s",
		about: "What a Go program inside receives by TLS from a server on the host's loopback, for a second, in all its streams together: with `--network open`, and with `--network filtered` by CONNECT. Client, proxy and server share the machine's CPUs."},
		func(t *table, server string) {
			var list []*contender
			for _, s := range streams {
				list = append(list, b.pair(s.kind, s.name, server)...)
			}
			b.interleave("network: throughput", min(11, b.rounds), list, b.told)
			t.rows = rows(list)
			for i, s := range streams {
				reach := []float64{0.8, 0}[i]
				t.atLeast(s.name+", "+wayProxied, s.name+", "+wayDirect, reach, "proxied throughput, "+s.name+", direct")
			}
		})
}

func (b *networkSuite) connections() table {
	return b.network(table{title: "The network: connections", unit: "1/s",
		about: "TLS connections a second, each with a handshake and one byte there and back, " + strconv.Itoa(dialers) + " at a time."},
		func(t *table, server string) {
			list := b.pair("connections", "TLS connections", server)
			b.interleave("network: connections", min(11, b.rounds), list, b.told)
			t.rows = rows(list)
			t.atLeast("TLS connections, "+wayProxied, "TLS connections, "+wayDirect, 0, "connections per second, proxied, against direct")
		})
}

// latency has two numbers of each run: the middle and the slow end.
func (b *networkSuite) latency() table {
	return b.network(table{title: "The network: latency", unit: "µs",
		about: fmt.Sprintf("A byte there and back on a TLS connection that is open: median and 99th percentile of %d rounds in a run, then of runs.", pings)},
		func(t *table, server string) {
			list := b.pair("latency", "median", server)
			var slow []*contender
			for _, c := range list {
				slow = append(slow, &contender{name: strings.Replace(c.name, "median", "p99", 1), argv: c.argv})
			}
			b.interleave("network: latency", min(11, b.rounds), list, func(c *contender) (float64, error) {
				out, err := output(c.dir, b.envOf(c), c.argv)
				if err != nil {
					return 0, err
				}
				var median, p99 float64
				if _, err := fmt.Sscan(out, &median, &p99); err != nil {
					return 0, fmt.Errorf("it printed %q instead of two numbers", firstLine(out))
				}
				other := slow[slices.Index(list, c)]
				other.got = append(other.got, p99)
				return median, nil
			})
			for i, c := range slow {
				c.got, c.problem = c.got[min(warmUp, len(c.got)):], list[i].problem
			}
			t.rows = rows(append(list, slow...))
			for _, what := range []string{"median", "p99"} {
				t.verdicts = append(t.verdicts, fmt.Sprintf("added latency, %s: %+.0f µs", what, t.median(what+", "+wayProxied)-t.median(what+", "+wayDirect)))
			}
		})
}

func (b *networkSuite) networkStart() table {
	return b.network(table{title: "The network: start-up", unit: "ms", about: "From fork to the end of `true`, with each network mode."},
		func(t *table, server string) {
			var list []*contender
			for _, mode := range []string{"closed", "local", "filtered", "open"} {
				var flags []string
				if mode == "filtered" {
					flags = []string{"--allow-host", server}
				}
				list = append(list, b.walled(mode, mode, flags, "true"))
			}
			b.interleave("network: start-up", b.rounds, list, b.clock)
			t.rows = rows(list)
			t.compare("filtered", "closed", 1.1, "start-up with `--network filtered`, against closed")
		})
}

func (b *networkSuite) networkMemory() table {
	return b.network(table{title: "The network: memory", unit: "MiB",
		about: "Proportional set size of the supervisor alone, one second after the start: idle, and with " + strconv.Itoa(manyStreams) + " TLS streams open through it."},
		func(t *table, server string) {
			list := []*contender{
				b.walled("closed, idle", "closed", nil, "sleep", "2"),
				b.walled("filtered, idle", "filtered", []string{"--allow-host", server}, "sleep", "2"),
				b.walled("filtered, "+strconv.Itoa(manyStreams)+" streams open", "filtered", []string{"--allow-host", server}, "./driver", "-net", "hold", "-to", server, "-by", proxyAt),
			}
			b.interleave("network: memory", min(5, b.rounds), list, func(c *contender) (float64, error) {
				return pssOfOne(c.dir, b.envOf(c), c.argv)
			})
			t.rows = rows(list)
			t.compare("filtered, idle", "closed, idle", 1.25, "memory of the supervisor with `--network filtered`, against closed")
		})
}

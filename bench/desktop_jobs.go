package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// editors are two windows full of text, which leave little of the screen empty.
func (p *desktopPlace) editors() ([]opened, error) {
	var list []opened
	for i, name := range []string{"left.txt", "right.txt"} {
		var text strings.Builder
		for n := range 400 {
			fmt.Fprintf(&text, "%4d drwxr-xr-x %d root root %6d Nov 22 a name %d and more of it\n", n, i+2, n*n*37%999983, n*n*n)
		}
		file := p.b.fixture.repo + "/" + name
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			return nil, err
		}
		list = append(list, opened{title: name, argv: []string{"mousepad", "--disable-server", file}, area: [4]int{i * 960, 0, 950, 1000}})
	}
	return list, nil
}

// asks is a contender's way to ask a workspace; of those without, argv is timed.
type asks struct {
	op   string
	what asked
}

// compared measures contenders, some of them by the workspace's socket.
func (p *desktopPlace) compared(title string, rounds int, list []*contender, byAPI map[string]asks) {
	p.b.interleave(title, rounds, list, func(c *contender) (float64, error) {
		how, ok := byAPI[c.name]
		if !ok {
			return p.b.clock(c)
		}
		start := time.Now()
		err := p.ask("one", how.op, how.what)
		return millis(time.Since(start)), err
	})
}

const (
	rowPNG     = "PNG, by API"
	rowRaw     = "raw, by API"
	rowJPEG    = "JPEG, by API"
	rowSame    = "unchanged, by API"
	rowPNGCLI  = "PNG, carrel desktop screenshot"
	rowJPEGCLI = "JPEG, carrel desktop screenshot"
	rowImport  = "PNG, import -window root" + onPlain
	rowScrot   = "PNG, scrot" + onPlain
	rowImports = "PNG, import -window root" + inDesk
)

// desktopShots takes pictures of the same windows, ours and others'.
func (b *desktopSuite) desktopShots() table {
	t := table{title: "Desktops: a picture", unit: "ms", about: "Of a screen of 1920x1080 with two windows of a text editor. By API: from finding the workspace until all bytes are read, in this program; \"unchanged\" is asked for with the token of the picture before. Programs: from fork to end, into a file; those with \"plain Xvfb\" ran beside the same windows on a server without walls and filter."}
	return b.desktops(t, func(t *table, p *desktopPlace) error {
		windows, err := p.editors()
		if err != nil {
			return err
		}
		return p.both(windows, func(x *plainX) error {
			file := func(name string) string { return p.runtime + "/" + name }
			list := []*contender{
				p.job(rowRaw, "version"), p.job(rowPNG, "version"), p.job(rowJPEG, "version"), p.job(rowSame, "version"),
				p.job(rowPNGCLI, "desktop", "screenshot", "one", "-o", file("cli.png")), p.job(rowJPEGCLI, "desktop", "screenshot", "one", "-o", file("cli.jpeg")),
				p.on(x, rowImport, "import", "-window", "root", file("import.png")), p.on(x, rowScrot, "scrot", "-o", file("scrot.png")),
				p.job(rowImports, "exec", "one", "--", "import", "-window", "root", "/tmp/import.png"),
			}
			token, err := p.token()
			if err != nil {
				return err
			}
			shot := func(format, since string) asks {
				return asks{"desktop-see", asked{"shot": asked{"format": format, "since": since}}}
			}
			p.compared("desktops: a picture", b.rounds, list, map[string]asks{rowRaw: shot("raw", ""), rowPNG: shot("png", ""), rowJPEG: shot("jpeg", ""), rowSame: shot("raw", token)})
			t.rows = rows(list)
			t.compare(rowPNG, rowImport, 0.4, "PNG by API, against import")
			t.compare(rowPNGCLI, rowImport, 0.4, "PNG by `carrel desktop screenshot`, against import")
			t.atLeast(rowPNGCLI, rowScrot, 0, "the same against scrot")
			t.verdicts = append(t.verdicts, grabbed())
			t.verdicts = append(t.verdicts, "Sizes: "+sizes(file("cli.png"), file("cli.jpeg"), file("import.png"), file("scrot.png")))
			return nil
		})
	})
}

var grabLine = regexp.MustCompile(`(?m)^BenchmarkGrab\S*\s+\d+\s+([0-9.]+) ns/op`)

// grabbed has the picture's own benchmark say how long it takes until the pixels lie in
// our memory, before anything is made of them: it runs in this directory, the project's.
func grabbed() string {
	const what = "pixels of the screen in the supervisor's memory (`go test -bench Grab ./internal/desktop`)"
	text, err := output(".", os.Environ(), []string{"go", "test", "-run", "^$", "-bench", "^BenchmarkGrab$", "-benchtime", "300x", "./internal/desktop"})
	if m := grabLine.FindStringSubmatch(text); err == nil && m != nil {
		ns, _ := strconv.ParseFloat(m[1], 64)
		return fmt.Sprintf("**%.2f** ms for the %s, to reach 1: %s", ns/1e6, what, met(ns <= 1e6))
	}
	return what + ": not measured"
}

var tokenOf = regexp.MustCompile(`"token": *"([^"]+)"`)

// token is what stands for the screen as it is.
func (p *desktopPlace) token() (string, error) {
	text, err := output(p.b.fixture.repo, p.env, []string{p.b.carrel, "screenshot", "one", "--json", "-o", p.runtime + "/token.png"})
	if err != nil {
		return "", err
	}
	m := tokenOf.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("a picture without a token: %.100q", text)
	}
	return m[1], nil
}

// sizes tells how large files are.
func sizes(files ...string) string {
	var out []string
	for _, file := range files {
		if st, err := os.Stat(file); err == nil {
			out = append(out, fmt.Sprintf("%s %d KB", st.Name(), st.Size()/1000))
		}
	}
	return strings.Join(out, ", ")
}

// desktopInput clicks, and types a thousand characters.
func (b *desktopSuite) desktopInput() table {
	t := table{title: "Desktops: mouse and keyboard", unit: "ms", about: "Moving to a place and clicking there, and typing 1,000 characters into a text editor, as fast as each can: by API, from asking until it is answered; programs from fork to end, xdotool with `--delay 0`."}
	return b.desktops(t, func(t *table, p *desktopPlace) error {
		windows, err := p.editors()
		if err != nil {
			return err
		}
		return p.both(windows[:1], func(x *plainX) error {
			text := strings.Repeat("The quick brown fox ", 50)
			for _, job := range []struct {
				what         string
				steps        []asked
				cli, xdotool []string
			}{
				{"click", []asked{{"do": "click", "at": [2]int{400, 500}}}, []string{"click", "one", "400", "500"}, []string{"mousemove", "400", "500", "click", "1"}},
				{"1,000 characters", []asked{{"do": "type", "text": text}}, []string{"type", "one", "--", text}, []string{"type", "--delay", "0", "--", text}},
			} {
				api, cli, peer, inside := job.what+", by API", job.what+", carrel desktop "+job.cli[0], job.what+", xdotool"+onPlain, job.what+", xdotool"+inDesk
				xdotool := append([]string{"xdotool"}, job.xdotool...)
				list := []*contender{p.job(api, "version"), p.job(cli, append([]string{"desktop"}, job.cli...)...), p.on(x, peer, xdotool...), p.job(inside, append([]string{"exec", "one", "--"}, xdotool...)...)}
				p.compared("desktops: "+job.what, b.rounds, list, map[string]asks{api: {"desktop-do", asked{"steps": job.steps}}})
				t.rows = append(t.rows, rows(list)...)
				t.atLeast(api, peer, 0, job.what+" by API, against xdotool")
				t.atLeast(cli, peer, 0, "the same with `carrel desktop "+job.cli[0]+"`")
			}
			return nil
		})
	})
}

// manyWindows is how many are listed.
const manyWindows = 20

func (b *desktopSuite) desktopWindows() table {
	t := table{title: "Desktops: listing windows", unit: "ms", about: fmt.Sprintf("Listing %d windows with title, class, process, place and state; the programs beside it give less: wmctrl title and desktop, xdotool ids.", manyWindows)}
	return b.desktops(t, func(t *table, p *desktopPlace) error {
		var windows []opened
		for i := range manyWindows {
			title := fmt.Sprintf("clock%02d", i)
			windows = append(windows, opened{title: title, argv: []string{"xclock", "-title", title}})
		}
		return p.both(windows, func(x *plainX) error {
			api, cli, wmctrl, xdotool := "by API", "carrel desktop windows", "wmctrl -l"+onPlain, "xdotool search --class"+onPlain
			list := []*contender{p.job(api, "version"), p.job(cli, "desktop", "windows", "one"), p.on(x, wmctrl, "wmctrl", "-l"), p.on(x, xdotool, "xdotool", "search", "--class", "xclock"), p.job("wmctrl -l"+inDesk, "exec", "one", "--", "wmctrl", "-l")}
			p.compared("desktops: windows", b.rounds, list, map[string]asks{api: {"desktop-see", asked{"windows": asked{}}}})
			t.rows = rows(list)
			t.atLeast(api, wmctrl, 0, "by API, against wmctrl")
			t.atLeast(cli, wmctrl, 0, "the same with `carrel desktop windows`")
			t.atLeast(cli, xdotool, 0, "`carrel desktop windows` against xdotool")
			return nil
		})
	})
}

func (b *desktopSuite) desktopTree() table {
	t := table{title: "Desktops: the accessibility tree", unit: "ms", about: "All that one window of a text editor tells of itself, as text, one element a line."}
	return b.desktops(t, func(t *table, p *desktopPlace) error {
		windows, err := p.editors()
		if err != nil {
			return err
		}
		return p.both(windows[:1], func(*plainX) error {
			whole := asked{"tree": asked{"lines": true}}
			text, err := p.askFor("one", "desktop-see", whole)
			if err != nil {
				return err
			}
			if !strings.Contains(string(text), "left.txt") {
				return errors.New("the editor tells nothing of itself")
			}
			list := []*contender{p.job("by API", "version"), p.job("carrel desktop a11y tree", "desktop", "a11y", "tree", "one")}
			lines := strings.Count(string(text), "\n")
			p.compared("desktops: accessibility", b.rounds, list, map[string]asks{"by API": {"desktop-see", whole}})
			t.rows = rows(list)
			t.verdicts = append(t.verdicts, fmt.Sprintf("%d elements", lines))
			return nil
		})
	})
}

// xJobs are x11perf's tests, and how often each does what it does: requests without an
// answer, questions, small drawing, text, pictures sent and fetched.
var xJobs = []struct {
	test  string
	times int
}{{"noop", 20_000_000}, {"pointer", 10_000}, {"rect10", 10_000}, {"ftext", 50_000}, {"putimage100", 5_000}, {"putimage500", 500}, {"getimage500", 500}}

// desktopFilter has a client draw, through the filter and without.
func (b *desktopSuite) desktopFilter() table {
	t := table{title: "Desktops: what programs can draw", unit: "a second", about: "x11perf on the hidden display, through the X11 filter, and on the same server without walls and filter. `noop`, `rect10` and `ftext` are requests without an answer, `pointer` is question and answer, the images are of 100x100 and 500x500 pixels and go over the socket."}
	return b.desktops(t, func(t *table, p *desktopPlace) error {
		return p.both(nil, func(x *plainX) error {
			for _, one := range xJobs {
				job := one.test
				argv := []string{"x11perf", "-repeat", "1", "-reps", strconv.Itoa(one.times), "-" + job}
				through := p.job(job+", through the filter", append([]string{"exec", "one", "--"}, argv...)...)
				plain := p.on(x, job+onPlain, argv...)
				for round := range min(3, b.rounds) {
					fmt.Fprintf(b.progress, "\r%-40s %d ", "desktops: "+job, round+1)
					for _, c := range []*contender{through, plain} {
						if c.argv == nil {
							c.problem = errMissing
						}
						if c.problem != nil {
							continue
						}
						var v float64
						text, err := output(c.dir, c.env, c.argv)
						if err == nil {
							v, err = drawn(text)
						}
						c.got, c.problem = append(c.got, v), err
					}
				}
				t.rows = append(t.rows, rows([]*contender{through, plain})...)
				t.atLeast(through.name, plain.name, 0, job+", through the filter against without")
			}
			fmt.Fprintln(b.progress)
			return nil
		})
	})
}

// rate is how x11perf gives its result: "reps @ 0.0004 msec (2500000.0/sec): Dot".
var rate = regexp.MustCompile(`\( *([0-9.]+)/sec\)`)

// drawn reads how much x11perf did in a second.
func drawn(text string) (float64, error) {
	m := rate.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("x11perf gives no rate: %.100q", firstLine(text))
	}
	return strconv.ParseFloat(m[1], 64)
}

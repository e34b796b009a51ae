package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// partsOf says what the processes of a workspace with a desktop are, by the names that
// the kernel has for them. The first is the supervisor, the first stage that of the
// workspace and the second that of the display.
var partsOf = []struct{ part, names string }{
	{"supervisor", ""},
	{"stage of the workspace", ""},
	{"stage of the display's walls", ""},
	{"Xvfb", " Xvfb "},
	{"openbox", " openbox "},
	{"session bus, accessibility", " dbus-daemon at-spi-bus-laun at-spi2-registr "},
	{"x11vnc", " x11vnc "},
}

// weighParts gives the proportional set size of each part of a workspace, in MiB.
func weighParts(root int) (map[string]float64, error) {
	list, err := processes(root)
	if err != nil {
		return nil, err
	}
	got := make(map[string]float64)
	stages := 0
	for i, one := range list {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", one.pid))
		if err != nil {
			continue // it has ended
		}
		name := part(one.name)
		switch {
		case i == 0:
			name = partsOf[0].part
		case one.name == "carrel-stage" && stages < 2:
			stages++
			name = partsOf[stages].part
		}
		mib := float64(pssOf(string(text))) / 1024
		got[name] += mib
		got[""] += mib
	}
	return got, nil
}

// part gives the part that a process belongs to, by its name.
func part(name string) string {
	for _, p := range partsOf {
		if strings.Contains(p.names, " "+name+" ") {
			return p.part
		}
	}
	return "others"
}

func (b *desktopSuite) desktopMemory() table {
	t := table{title: "Desktops: memory", unit: "MiB", about: "Proportional set size of a workspace with a desktop that was asked for its size, two seconds after that, with no program on it, by its parts; the bus's part runs inside once a display is there. Beside it Xvfb with the same arguments and openbox, without walls. Each time anew."}
	return b.desktops(t, func(t *table, p *desktopPlace) error {
		const whole, plain, manager = "a workspace with a desktop", "Xvfb alone", "openbox alone"
		got := map[string]*contender{}
		order := []string{whole}
		for _, one := range partsOf {
			order = append(order, one.part)
		}
		order = append(order, "others", plain, manager)
		add := func(name string, mib float64) {
			if got[name] == nil {
				got[name] = &contender{name: name}
			}
			got[name].got = append(got[name].got, mib)
		}
		for round := range min(5, b.rounds) {
			fmt.Fprintf(b.progress, "\r%-40s %d ", "desktops: memory", round+1)
			if err := p.start("one"); err != nil {
				return err
			}
			time.Sleep(2 * settle)
			parts, err := weighParts(registry(p.runtime)[0].PID)
			if err != nil {
				return err
			}
			for name, mib := range parts {
				if name == "" {
					name = whole
				}
				add(name, mib)
			}
			p.stopAll()
			server, openbox, err := p.weighPlain()
			if err != nil {
				return err
			}
			add(plain, server)
			add(manager, openbox)
		}
		fmt.Fprintln(b.progress)
		for _, name := range order {
			if got[name] != nil {
				t.rows = append(t.rows, rows([]*contender{got[name]})...)
			}
		}
		t.atLeast(whole, plain, 0, "all of it, against Xvfb alone")
		return nil
	})
}

// weighPlain weighs a server and a window manager without walls.
func (p *desktopPlace) weighPlain() (server, manager float64, err error) {
	x, err := startX(p.x, p.runtime, p.env)
	if err != nil {
		return 0, 0, err
	}
	defer x.stop()
	if err := x.launch("/", "openbox", "--sm-disable"); err != nil {
		return 0, 0, err
	}
	time.Sleep(2 * settle)
	one, err1 := treePSS(x.cmd.Process.Pid)
	other, err2 := treePSS(x.others[0].Process.Pid)
	return float64(one) / 1024, float64(other) / 1024, errors.Join(err1, err2)
}

// manyDesktops is how many stand at the same time.
const manyDesktops = 30

func (b *desktopSuite) desktopMany() table {
	t := table{title: "Desktops: thirty at once", unit: "see the row", about: fmt.Sprintf("%d workspaces, each of a project of its own and with a desktop, started by %d callers at the same time until the display of each has answered; the memory of all their processes together, and the processor time that these have in %s of idling; `carrel stop` of all, %d at the same time.", manyDesktops, manyCallers, idleTime, manyCallers)}
	return b.desktops(t, func(t *table, p *desktopPlace) error {
		var names []string
		for i := range manyDesktops {
			names = append(names, fmt.Sprintf("many%02d", i))
			if err := mkdirs(p.project(names[i])); err != nil {
				return err
			}
		}
		list := []*contender{{name: "until all are ready, ms"}, {name: "memory of all, MiB"}, {name: "processor time of all in ten idle seconds, ms"}, {name: "until all have stopped, ms"}}
		for round := range min(3, b.rounds) {
			fmt.Fprintf(b.progress, "\r%-40s %d ", "desktops: thirty", round+1)
			got, err := p.thirty(names)
			if err != nil {
				return err
			}
			for i, v := range got {
				list[i].got = append(list[i].got, v)
			}
		}
		fmt.Fprintln(b.progress)
		t.rows = rows(list)
		return nil
	})
}

// thirty gives one round's values, in the order of the rows.
func (p *desktopPlace) thirty(names []string) (got [4]float64, err error) {
	start := time.Now()
	err = atOnce(manyCallers, names, func(name string) error {
		if err := p.carrel(p.project(name), "start", name, "--display", "virtual"); err != nil {
			return err
		}
		return p.ready(name)
	})
	if err != nil {
		return got, err
	}
	got[0] = millis(time.Since(start))
	pss, before, err := p.weigh()
	if err != nil {
		return got, err
	}
	got[1] = pss
	time.Sleep(idleTime)
	after, err := p.cpu()
	if err != nil {
		return got, err
	}
	got[2] = millis(after - before)
	start = time.Now()
	err = atOnce(manyCallers, names, func(name string) error { return p.carrel("/", "stop", name) })
	got[3] = millis(time.Since(start))
	return got, err
}

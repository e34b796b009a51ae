package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// settle is how long a process tree gets to come to rest.
const settle = time.Second

// pssWhileRunning starts a command, waits until its tree has settled, and gives
// the tree's proportional set size in MiB: private memory counts whole, shared
// memory by the number of processes that share it. See proc(5), smaps_rollup.
func pssWhileRunning(dir string, env, argv []string) (float64, error) {
	pid, stop, err := started(dir, env, argv)
	if err != nil {
		return 0, err
	}
	defer stop()
	time.Sleep(settle)
	total, err := treePSS(pid)
	return float64(total) / 1024, err
}

// pssOfOne does the same for the process alone, without its descendants.
func pssOfOne(dir string, env, argv []string) (float64, error) {
	pid, stop, err := started(dir, env, argv)
	if err != nil {
		return 0, err
	}
	defer stop()
	time.Sleep(settle)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, fmt.Errorf("not measurable as this user: %w", err)
	}
	return float64(pssOf(string(text))) / 1024, nil
}

// treePSS sums up a process and all its descendants, in KiB.
func treePSS(root int) (int, error) {
	parents, err := parents()
	if err != nil {
		return 0, err
	}
	total := 0
	for _, pid := range descendants(parents, root) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if errors.Is(err, os.ErrPermission) {
			return 0, errors.New("not measurable as this user: run as root")
		}
		if err == nil { // an error else: it has ended since
			total += pssOf(string(text))
		}
	}
	return total, nil
}

// pssOf reads the Pss line of smaps_rollup, in KiB; 0 when there is none.
func pssOf(text string) int {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "Pss:" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// descendants gives root and all below it.
func descendants(parents map[int]int, root int) []int {
	tree := []int{root}
	for i := 0; i < len(tree); i++ {
		for pid, parent := range parents {
			if parent == tree[i] {
				tree = append(tree, pid)
			}
		}
	}
	return tree
}

// parents gives every process's parent.
func parents() (map[int]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		return nil, errors.New("no /proc to read processes from")
	}
	out := make(map[int]int)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended since
		}
		if pid, parent, ok := parseStat(string(text)); ok {
			out[pid] = parent
		}
	}
	return out, nil
}

// parseStat reads pid and parent of proc_pid_stat(5). The name between them is
// in parentheses and may hold any byte, so the last parenthesis counts.
func parseStat(text string) (pid, parent int, ok bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return 0, 0, false
	}
	rest := strings.Fields(text[end+1:])
	if len(rest) < 2 {
		return 0, 0, false
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(text[:open]))
	parent, err2 := strconv.Atoi(rest[1])
	return pid, parent, err1 == nil && err2 == nil
}

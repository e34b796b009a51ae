// Command testcount counts what `go test -json` says on standard input. It shows the packages as
// they end, the output of what failed and the slowest tests. It refuses skips that were not
// expected, and closes with one line:
//
//	N passed, N failed, N skipped
//
// Tests and their subtests count alike. A skipped test counts as failed unless
// its output contains a line of the file given by -allow: a skip that is not
// expected is a test that silently stopped testing. Its exit status is 1 when
// anything failed, also when the input holds no test at all.
//
// It is a tool of the build and imports nothing of this module.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	allow := flag.String("allow", "", "file with the accepted reasons for skipping, one a line")
	counts := flag.String("counts", "", "file to write the closing line to as well")
	flag.Parse()
	reasons, err := readReasons(*allow)
	if err == nil {
		err = run(os.Stdin, os.Stdout, reasons, *counts)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "testcount: %v\n", err)
		os.Exit(1)
	}
}

// run reads everything, prints the closing line and gives an error when
// something failed.
func run(in io.Reader, out io.Writer, reasons []string, counts string) error {
	t := newCounter(out, reasons)
	if err := t.read(in); err != nil {
		return err
	}
	t.finish()
	t.slowest()
	line := t.line()
	fmt.Fprintln(out, line)
	if counts != "" {
		if err := os.WriteFile(counts, []byte(line+"\n"), 0o644); err != nil {
			return fmt.Errorf("writing the counts: %w", err)
		}
	}
	switch {
	case t.failed > 0:
		return fmt.Errorf("%d failed", t.failed)
	case t.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}

// readReasons reads the allow list; "#" begins a comment.
func readReasons(file string) ([]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the accepted reasons: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out, nil
}

// event is one line of the input, see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build events
	Test       string
	Elapsed    float64
	Output     string
}

// read takes the events in. A line that is no event is shown as it is: go
// itself speaks plainly when it cannot even begin.
func (t *counter) read(in io.Reader) error {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				fmt.Fprintf(t.out, "%s", line)
			} else {
				t.add(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading test events: %w", err)
		}
	}
}

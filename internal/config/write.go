package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// lockWait is how long one edit waits for another; an edit takes milliseconds.
const lockWait = 10 * time.Second

var errLocked = errors.New("another program has been changing it for ten seconds")

// textNode is a string as this package reads it back, whatever its bytes.
func textNode(s string) *yaml.Node {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, unprintable) {
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
		if ambiguous(s) {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	}
	return &yaml.Node{
		Kind: yaml.ScalarNode, Tag: "!!binary", Style: yaml.TaggedStyle,
		Value: base64.StdEncoding.EncodeToString([]byte(s)),
	}
}

// ambiguous tells whether the plain form could be anything but this text.
func ambiguous(s string) bool {
	return s == "" || strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '/' || r == '-' || r == '_' || r == '.')
	}) || s != strings.Trim(s, "-.") || isWord(strings.ToLower(s))
}

func isWord(s string) bool {
	switch s {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return true
	}
	return false
}

func unprintable(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// replaceFile puts the text in place at once: who reads sees the old file or
// the new one, also after a crash.
func replaceFile(file string, text []byte) (err error) {
	dir := filepath.Dir(file)
	f, err := os.CreateTemp(dir, ".config-*.yaml") // made with mode 0600
	if err != nil {
		return fmt.Errorf("creating a new file beside %q: %w", file, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(text); err != nil {
		return fmt.Errorf("writing beside %q: %w", file, err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("syncing %q: %w", f.Name(), err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("closing %q: %w", f.Name(), err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return fmt.Errorf("replacing %q: %w", file, err)
	}
	syncDir(dir)
	return nil
}

// syncDir makes the rename last. Not every file system can, and the file is
// right either way.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

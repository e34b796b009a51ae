package show

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"carrel/internal/api"
)

// Stamp is how a moment is shown to a person, in local time.
const Stamp = "2006-01-02 15:04:05"

// Quote quotes a text as Go does.
func Quote(s string) string { return strconv.Quote(s) }

// QuoteIf quotes a name only where it needs quotes.
func QuoteIf(s string) string {
	if q := Quote(s); s == "" || q != `"`+s+`"` {
		return q
	}
	return s
}

// TypedName is the last part of a path as a person can type it on one line.
func TypedName(path string) string {
	name := filepath.Base(path)
	if strings.TrimSpace(name) != name {
		return OneLine(Quote(name))
	}
	return OneLine(QuoteIf(name))
}

// Words writes a command line for reading: an argument with blanks or bytes
// that do not print is quoted.
func Words(list []api.Text) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = QuoteIf(string(s))
		if strings.ContainsAny(string(s), " \t") && !strings.HasPrefix(out[i], `"`) {
			out[i] = Quote(string(s))
		}
	}
	return strings.Join(out, " ")
}

// Dash stands for an empty cell.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Count is a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Shorten cuts text for one column of a table.
func Shorten(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return s
}

// Size is a size as a person reads it.
func Size(n int64) string {
	unit := 0
	size := float64(n)
	for ; size >= 1024 && unit < 4; unit++ {
		size /= 1024
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + " " + []string{"", "KiB", "MiB", "GiB", "TiB"}[unit]
}

// NotNil makes an empty list [] in JSON.
func NotNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

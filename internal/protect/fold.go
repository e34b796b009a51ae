package protect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// foldName gives the form in which two names are compared on a file system
// without case. It is at least as coarse as vfat and as ext4 and f2fs with
// casefold, for all names that can equal one of ours, which are plain ASCII:
// simple case folding, the full foldings whose result is ASCII, code points that
// a casefold directory ignores, and the dots and blanks that vfat drops at the
// end. A byte that is not UTF-8 stays: with it nothing equals a name of ours.
func foldName(name string) string {
	if ascii(name) {
		return trimmed(name, strings.ToLower(name))
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteByte(name[i])
		case ignorable(r):
		default:
			if e := expansion(r); e != "" {
				b.WriteString(e)
			} else {
				b.WriteRune(foldRune(r))
			}
		}
		i += n
	}
	return trimmed(name, b.String())
}

// trimmed drops dots and blanks at the end, but never all of a name.
func trimmed(name, folded string) string {
	if t := strings.TrimRight(folded, ". "); t != "" {
		return t
	}
	return name
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// expansion is the full case folding of a rune, where it consists of ASCII letters.
func expansion(r rune) string {
	switch r {
	case '\u00df', '\u1e9e':
		return "ss"
	case '\ufb00':
		return "ff"
	case '\ufb01':
		return "fi"
	case '\ufb02':
		return "fl"
	case '\ufb03':
		return "ffi"
	case '\ufb04':
		return "ffl"
	case '\ufb05', '\ufb06':
		return "st"
	}
	return ""
}

// foldRune gives the smallest rune of those that differ in case only, as lower
// case where that is ASCII: the Kelvin sign is a k, the long s an s.
func foldRune(r rune) rune {
	least := r
	for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
		least = min(least, x)
	}
	if least >= 'A' && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// ignorable are the code points that normalisation of casefold directories
// drops, and a few more.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// unalias gives the name of ours that a folded name may be the short form of:
// vfat finds ".git" as GIT~1 as well. Too many names match rather than too few,
// but none that belongs to a rule with a wildcard in its first part.
func unalias(folded string) string {
	if !strings.Contains(folded, "~") {
		return folded
	}
	for _, name := range index().aliased {
		if shortFormOf(folded, name) {
			return name
		}
	}
	return folded
}

// shortFormOf compares an 8.3 name with a long one: up to six first characters
// of the base, or two and four hexadecimal digits, then "~" and digits, then up
// to three characters of the extension. Dots in front and within fall away.
func shortFormOf(short, long string) bool {
	base, ext, _ := strings.Cut(short, ".")
	front, number, ok := strings.Cut(base, "~")
	if !ok || front == "" || number == "" || strings.Trim(number, "0123456789") != "" {
		return false
	}
	long = strings.TrimLeft(long, ".")
	longBase, longExt := long, ""
	if dot := strings.LastIndexByte(long, '.'); dot >= 0 {
		longBase, longExt = strings.ReplaceAll(long[:dot], ".", ""), long[dot+1:]
	}
	if ext != longExt[:min(3, len(longExt))] {
		return false
	}
	if len(front) >= 5 && strings.Trim(front[len(front)-4:], "0123456789abcdef") == "" && strings.HasPrefix(longBase, front[:len(front)-4]) {
		return true
	}
	return len(front) >= min(3, len(longBase)) && strings.HasPrefix(longBase, front)
}

package gitconf

import (
	"path"
	"slices"
	"strings"
)

// maxWords bounds the words of one value, maxNesting the quotes within quotes.
const (
	maxWords   = 1000
	maxNesting = 5
)

// interpreters take a program's file as their first argument.
var interpreters = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "python", "pypy", "node", "nodejs", "deno", "bun",
	"perl", "ruby", "php", "lua", "luajit", "source", ".", "java", "Rscript", "tclsh", "wish", "pwsh", "julia"}

// wrappers run the command that their arguments are.
var wrappers = []string{"exec", "command", "env", "nohup", "nice", "time", "sudo", "setsid", "busybox", "xargs", "timeout", "stdbuf",
	"ionice", "chronic"}

// named is a path as a command names it.
type named struct {
	path string
	dir  bool // programs are looked for in it
}

// command gives the paths that a command names: its program, if it is no name
// for PATH, and each argument that may be a file. It errs on the side of too
// many. exists tells whether a relative name is a regular file now.
func command(text, home string, exists func(string) bool) []named {
	text = known(home).Replace(text)
	var out []named
	queue := []string{text}
	seen := map[string]bool{text: true}
	for n := 0; len(queue) > 0 && n < maxWords; n++ {
		text := queue[0]
		queue = queue[1:]
		c := scan{exists: exists}
		for _, w := range split(text) {
			c.word(w)
			inner := w.text
			if w.quoted && strings.ContainsAny(inner, " \t\n;|&()<>'\"`") && !seen[inner] && len(seen) < maxWords {
				seen[inner] = true
				queue = append(queue, inner)
			}
		}
		out = append(out, c.out...)
		if len(out) > maxWords {
			break
		}
	}
	return out
}

// gitDirMark stands for the git directory in a command.
const gitDirMark = "\x01"

// known replaces the expressions that commands use for well known directories.
func known(home string) *strings.Replacer {
	var pairs []string
	for _, top := range []string{"$(git rev-parse --show-toplevel)", "$(pwd)", "$PWD", "${PWD}", "$GIT_WORK_TREE", "${GIT_WORK_TREE}"} {
		pairs = append(pairs, top+"/", "./")
	}
	for _, dir := range []string{"$(git rev-parse --git-dir)", "$GIT_DIR", "${GIT_DIR}", "$GIT_COMMON_DIR", "${GIT_COMMON_DIR}"} {
		pairs = append(pairs, dir+"/", gitDirMark+"/")
	}
	return strings.NewReplacer(append(pairs, "$HOME/", home+"/", "${HOME}/", home+"/")...)
}

// word is a word of a shell command.
type word struct {
	text   string
	first  bool // of a simple command
	glued  bool // it follows a substitution without a blank
	quoted bool // some of it was in quotes
}

// split cuts a shell command into words. What separates commands separates
// words here, expansions of parameters stay as they are.
func split(text string) []word {
	var list []word
	var b strings.Builder
	w := word{first: true}
	some := false
	flush := func(next word) {
		if some {
			w.text = b.String()
			list = append(list, w)
		} else if next.first {
			// nothing stood between two separators
		} else {
			next.first = w.first
		}
		b.Reset()
		w, some = next, false
	}
	for i := 0; i < len(text) && len(list) < maxWords; i++ {
		switch c := text[i]; c {
		case ' ', '\t':
			flush(word{})
		case '\n', ';', '|', '&', '(':
			flush(word{first: true})
		case '<', '>':
			flush(word{})
		case ')', '`':
			flush(word{glued: true, first: c == '`'})
		case '\\':
			if i++; i < len(text) && text[i] != '\n' {
				b.WriteByte(text[i])
				some = true
			}
		case '\'', '"':
			some, w.quoted = true, true
			for i++; i < len(text) && text[i] != c; i++ {
				if c == '"' && text[i] == '\\' && i+1 < len(text) {
					i++
				}
				b.WriteByte(text[i])
			}
			if c == '"' && i+1 < len(text) {
				endName(&b, text[i+1])
			}
		default:
			b.WriteByte(c)
			some = true
		}
	}
	flush(word{})
	return list
}

// endName puts the name of a parameter at the end of a word in braces, if what comes next
// would be taken for more of the name: "$A"b is ${A}b.
func endName(b *strings.Builder, next byte) {
	if next != '_' && !letter(next) && !digit(next) {
		return
	}
	text := b.String()
	if i := strings.LastIndexByte(text, '$'); i >= 0 && assignment(text[i+1:]+"=") {
		b.Reset()
		b.WriteString(text[:i] + "${" + text[i+1:] + "}")
	}
}

// scan goes through the words of a command.
type scan struct {
	exists  func(string) bool
	out     []named
	program bool   // the next word is a program
	file    bool   // the next argument is a program's file
	last    string // the word before
	python  bool
	cd      string // a directory that the command changes to
}

func (c *scan) word(w word) {
	text := w.text
	last := c.last
	c.last = text
	switch {
	case (w.first || c.program) && assignment(text):
		c.assign(text)
		c.program = true
		return
	case w.first || c.program && !strings.HasPrefix(text, "-"):
		c.program = slices.Contains(wrappers, path.Base(text))
		c.file, c.python = interpreter(text), strings.HasPrefix(path.Base(text), "py")
		if strings.Contains(text, "/") && (!w.quoted || !strings.ContainsAny(text, ";|&'\"\n")) {
			c.add(text, w.glued)
		}
		return
	case last == "cd" || last == "-C":
		c.cd = text
		return
	case last == "-m" && c.python:
		module := strings.ReplaceAll(text, ".", "/")
		c.add(module+".py", false)
		c.add(module+"/__main__.py", false)
		c.add(module+"/__init__.py", false)
		return
	case strings.HasPrefix(text, "-"):
		c.option(text)
		return
	}
	if eq := strings.IndexByte(text, '='); eq >= 0 && !c.exists(text) {
		c.add(strings.TrimPrefix(text[eq+1:], "!"), false)
		return
	}
	if strings.ContainsAny(text, " \t\n") && !c.exists(text) {
		return // its words are looked at one by one
	}
	if c.file || strings.Contains(text, "/") || extension(text) || c.exists(text) {
		c.add(text, w.glued)
	}
	c.file = false
}

// interpreter tells whether the next argument names a program's file.
func interpreter(text string) bool {
	base := path.Base(text)
	return slices.Contains(interpreters, base) || slices.Contains(interpreters, strings.TrimRight(base, "0123456789."))
}

// option looks at a word such as -Ix, --file=x or -c, behind which stands a
// program's text and not its file.
func (c *scan) option(text string) {
	if _, value, ok := strings.Cut(text, "="); ok {
		c.add(value, false)
	} else if i := strings.IndexAny(text, "/.~"); i > 0 {
		c.add(text[i:], false)
	}
	if !strings.HasPrefix(text, "--") && strings.ContainsAny(text, "ce") {
		c.file = false
	}
}

// assign looks at NAME=VALUE in front of a command.
func (c *scan) assign(text string) {
	name, value, _ := strings.Cut(text, "=")
	for part := range strings.SplitSeq(value, ":") {
		if name == "PATH" && part != "" && part[0] != '$' {
			c.out = append(c.out, named{part, true})
		} else if strings.Contains(part, "/") || extension(part) {
			c.add(part, false)
		}
	}
}

// add takes a word that may be a path. What follows an expansion that is not
// known is taken to start at the top of the working tree.
func (c *scan) add(text string, glued bool) {
	if glued {
		text = strings.TrimLeft(text, "/")
	}
	if _, value, ok := strings.Cut(text, "=!"); ok {
		c.add(value, false) // git -c alias.x=!COMMAND
	}
	if inner, rest, ok := strings.Cut(text, "}"); ok && strings.HasPrefix(text, "${") {
		if _, instead, ok := strings.Cut(inner, "-"); ok {
			c.add(instead+rest, false)
		}
		c.add(strings.TrimLeft(rest, "/"), false)
		return
	}
	if strings.HasPrefix(text, "$") {
		_, rest, ok := strings.Cut(text, "/")
		if !ok {
			return
		}
		text = rest
	}
	if text == "" || strings.ContainsAny(text, "*?[%$\n\x00") || strings.Contains(text, "://") || len(text) > 4096 {
		return
	}
	c.out = append(c.out, named{path: text})
	if c.cd != "" && !path.IsAbs(text) {
		c.out = append(c.out, named{path: c.cd + "/" + text})
	}
}

// assignment tells NAME=VALUE.
func assignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && !digit(name[0]) && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// extension tells whether a name ends as those of files do.
func extension(text string) bool {
	ext := path.Ext(text)
	return len(ext) > 1 && letter(ext[1]) && len(ext) < len(text)
}

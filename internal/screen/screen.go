package screen

import "slices"

// Bounds of what a screen holds.
const (
	MaxCols       = 500
	MaxRows       = 300
	MaxScrollback = 10000 // lines

	maxTitle   = 512  // bytes
	maxAnswers = 4096 // bytes
)

// cursor is what DECSC saves.
type cursor struct {
	x, y    int
	pending bool // the next character begins a new line
	style   style
	origin  bool
	lines   [2]bool // G0 and G1 are the line drawing set
	shift   int     // which of the two is used
}

// modes are what a program asked for; all false on a fresh terminal.
type modes struct {
	insert, newline, appCursor, appKeypad  bool
	noWrap, hidden, reversed, paste, focus bool
	mouse                                  [3]bool // 1000, 1002, 1003
	mouseUTF8, mouseSGR, mouseOld          bool    // 1005, 1006, 9
}

// Screen is a terminal's screen and its state.
type Screen struct {
	cols, rows  int
	main, other []line // other is the alternate grid, nil until it is used
	alternate   bool
	cur         cursor
	saved       [2]cursor // of the main grid and of the alternate one
	top, bottom int       // margins: the first and the last line that scroll
	modes       modes
	tabs        []bool
	title       string
	last        rune // for REP

	back    []string // scrollback; the oldest is at oldest once it is full
	oldest  int
	maxBack int

	answers []byte
	parser  parser
}

// New makes an empty screen. Sizes beyond 1 to [MaxCols] columns, 1 to [MaxRows]
// rows and 0 to [MaxScrollback] lines are brought to the nearest that is allowed.
func New(cols, rows, scrollback int) *Screen {
	s := &Screen{cols: clamp(cols, 1, MaxCols), rows: clamp(rows, 1, MaxRows), maxBack: clamp(scrollback, 0, MaxScrollback)}
	s.reset()
	return s
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }

// reset is RIS.
func (s *Screen) reset() {
	s.main, s.other, s.alternate = grid(s.cols, s.rows), nil, false
	s.cur, s.saved, s.modes = cursor{}, [2]cursor{}, modes{}
	s.top, s.bottom = 0, s.rows-1
	s.title, s.last = "", 0
	s.back, s.oldest = nil, 0
	s.tabs = make([]bool, s.cols)
	s.defaultTabs(0)
}

// softReset is DECSTR: modes and looks, neither the text nor the place.
func (s *Screen) softReset() {
	s.modes = modes{mouse: s.modes.mouse, mouseUTF8: s.modes.mouseUTF8, mouseSGR: s.modes.mouseSGR, paste: s.modes.paste, focus: s.modes.focus}
	s.cur = cursor{x: s.cur.x, y: s.cur.y}
	s.saved[s.which()] = cursor{}
	s.top, s.bottom = 0, s.rows-1
}

func (s *Screen) defaultTabs(from int) {
	for x := from; x < s.cols; x++ {
		s.tabs[x] = x%8 == 0
	}
}

func grid(cols, rows int) []line {
	g := make([]line, rows)
	for y := range g {
		g[y] = newLine(cols, style{})
	}
	return g
}

// which grid is shown: 0 for the main one, 1 for the alternate one.
func (s *Screen) which() int {
	if s.alternate {
		return 1
	}
	return 0
}

func (s *Screen) lines() []line {
	if s.alternate {
		return s.other
	}
	return s.main
}

func (s *Screen) line() line { return s.lines()[s.cur.y] }

// Resize changes the size, within the same bounds as [New]. Margins go back to
// the whole screen. Lines that no longer fit leave at the bottom as far as they
// are below the cursor and empty, the rest at the top, into the scrollback.
// Columns leave at the right.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = clamp(cols, 1, MaxCols), clamp(rows, 1, MaxRows)
	if cols == s.cols && rows == s.rows {
		return
	}
	cursors := [2]*cursor{&s.saved[0], &s.saved[1]} // of the grids
	cursors[s.which()] = &s.cur
	var gone int
	s.main, gone = s.fit(s.main, cols, rows, cursors[0].y, true)
	cursors[0].y -= gone
	if s.other != nil {
		s.other, gone = s.fit(s.other, cols, rows, cursors[1].y, false)
		cursors[1].y -= gone
	}
	for _, c := range []*cursor{&s.saved[0], &s.saved[1], &s.cur} {
		c.x, c.y, c.pending = min(c.x, cols-1), clamp(c.y, 0, rows-1), false
	}
	had := len(s.tabs)
	s.cols, s.rows, s.top, s.bottom = cols, rows, 0, rows-1
	s.tabs = append(s.tabs[:min(had, cols):min(had, cols)], make([]bool, max(cols-had, 0))...)
	s.defaultTabs(min(had, cols))
}

// fit gives a grid another size, and tells how many lines left at the top.
func (s *Screen) fit(g []line, cols, rows, y int, keep bool) ([]line, int) {
	for len(g) > rows && len(g)-1 > y && g[len(g)-1].text() == "" {
		g = g[:len(g)-1]
	}
	gone := clamp(len(g)-rows, 0, y)
	for _, l := range g[:gone] {
		if keep {
			s.keep(l)
		}
	}
	g = slices.Clone(g[gone:])
	g = g[:min(len(g), rows)]
	for y, l := range g {
		l.part(min(cols, len(l)))
		g[y] = append(l[:min(cols, len(l)):min(cols, len(l))], make(line, max(cols-len(l), 0))...)
	}
	for len(g) < rows {
		g = append(g, newLine(cols, style{}))
	}
	return g, gone
}

// keep puts a line into the scrollback, and the oldest one out.
func (s *Screen) keep(l line) {
	switch {
	case s.maxBack == 0:
	case len(s.back) < s.maxBack:
		s.back = append(s.back, l.text())
	default:
		s.back[s.oldest] = l.text()
		s.oldest = (s.oldest + 1) % s.maxBack
	}
}

// Lines are the rows of the screen from the top, without the blanks at their
// ends.
func (s *Screen) Lines() []string {
	all := make([]string, s.rows)
	for y, l := range s.lines() {
		all[y] = l.text()
	}
	return all
}

// Scrollback are the lines that left the main grid at its top, oldest first.
func (s *Screen) Scrollback() []string {
	return append(slices.Clone(s.back[s.oldest:]), s.back[:s.oldest]...)
}

// Cursor tells where the cursor is, counted from 0, and whether it is shown.
// With a pending wrap it is on the last column.
func (s *Screen) Cursor() (col, row int, visible bool) { return s.cur.x, s.cur.y, !s.modes.hidden }

// Size is the number of columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Title is what the program named its window, without control characters and
// in 512 bytes at most.
func (s *Screen) Title() string { return s.title }

// Alternate tells whether the program uses the alternate grid, as editors and
// pagers do.
func (s *Screen) Alternate() bool { return s.alternate }

// Answers takes what the terminal has to say to the program since the last
// call: reports that it asked for. They belong to the program's input. What
// comes beyond 4,096 bytes before they are taken is lost.
func (s *Screen) Answers() []byte {
	a := s.answers
	s.answers = nil
	return a
}

func (s *Screen) answer(text string) {
	if len(s.answers)+len(text) <= maxAnswers {
		s.answers = append(s.answers, text...)
	}
}

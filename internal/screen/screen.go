package screen

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
	insert, newline, appCursor, appKeypad bool
	hidden, reversed, paste, focus        bool
	mouse                                 [3]bool // 1000, 1002, 1003
	mouseUTF8, mouseSGR, mouseOld         bool    // 1005, 1006, 9
}

// Screen is a terminal's screen and its state.
type Screen struct {
	page  page
	modes modes
	title string
	last  rune // for REP

	answers []byte
	parser  parser
}

// New makes an empty screen. Sizes beyond 1 to [MaxCols] columns, 1 to [MaxRows]
// rows and 0 to [MaxScrollback] lines of scrollback are brought to the nearest that is
// allowed.
func New(cols, rows, lines int) *Screen {
	return &Screen{page: newPage(clamp(cols, 1, MaxCols), clamp(rows, 1, MaxRows), clamp(lines, 0, MaxScrollback))}
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }

// reset is RIS.
func (s *Screen) reset() {
	s.page = newPage(s.page.cols, s.page.rows, s.page.back.max)
	s.modes, s.title, s.last = modes{}, "", 0
}

// softReset is DECSTR: modes and looks, neither the text nor the place.
func (s *Screen) softReset() {
	s.modes = modes{mouse: s.modes.mouse, mouseUTF8: s.modes.mouseUTF8, mouseSGR: s.modes.mouseSGR, paste: s.modes.paste, focus: s.modes.focus}
	s.page.cur = cursor{x: s.page.cur.x, y: s.page.cur.y}
	s.page.saved[s.page.which()] = cursor{}
	s.page.top, s.page.bottom, s.page.noWrap = 0, s.page.rows-1, false
}

// Resize changes the size, within the same bounds as [New]. Margins go back to
// the whole screen. Lines that no longer fit leave at the bottom as far as they
// are below the cursor and empty, the rest at the top, into the scrollback.
// Columns leave at the right.
func (s *Screen) Resize(cols, rows int) {
	s.page.resize(clamp(cols, 1, MaxCols), clamp(rows, 1, MaxRows))
}

// Lines are the rows of the screen from the top, without the blanks at their
// ends.
func (s *Screen) Lines() []string {
	all := make([]string, s.page.rows)
	for y, l := range s.page.lines() {
		all[y] = l.text()
	}
	return all
}

// Scrollback are the lines that left the main grid at its top, oldest first.
func (s *Screen) Scrollback() []string {
	return s.page.back.all()
}

// Cursor tells where the cursor is, counted from 0, and whether it is shown.
// With a pending wrap it is on the last column.
func (s *Screen) Cursor() (col, row int, visible bool) {
	return s.page.cur.x, s.page.cur.y, !s.modes.hidden
}

// Size is the number of columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.page.cols, s.page.rows }

// Title is what the program named its window, without control characters and
// in 512 bytes at most.
func (s *Screen) Title() string { return s.title }

// Alternate tells whether the program uses the alternate grid, as editors and
// pagers do.
func (s *Screen) Alternate() bool { return s.page.alternate }

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

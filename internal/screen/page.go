package screen

import (
	"slices"
)

// page is what a terminal shows and where it writes: the main grid and the alternate one,
// the cursor, margins and tab stops. Its methods are what control functions do to these.
type page struct {
	cols, rows  int
	main, other []line // other is the alternate grid, nil until it is used
	alternate   bool
	cur         cursor
	saved       [2]cursor // of the main grid and of the alternate one
	top, bottom int       // margins: the first and the last line that scroll
	noWrap      bool      // a character after the last column takes the place of the last one
	tabs        tabStops
	back        scrollback
}

func newPage(cols, rows, scrollbackMax int) page {
	pg := page{cols: cols, rows: rows, main: grid(cols, rows), bottom: rows - 1}
	pg.tabs, pg.back.max = make(tabStops, cols), scrollbackMax
	pg.tabs.usual(0)
	return pg
}

func grid(cols, rows int) []line {
	g := make([]line, rows)
	for y := range g {
		g[y] = newLine(cols, style{})
	}
	return g
}

func (pg *page) saveOr(on bool) {
	if on {
		pg.save()
	} else {
		pg.restore()
	}
}

// fullScreen is mode 1049: the main grid and its cursor wait until the program
// is done.
func (pg *page) fullScreen(on bool) {
	switch {
	case on && !pg.alternate:
		pg.save()
		pg.switchTo(true)
		pg.clear()
	case !on && pg.alternate:
		pg.switchTo(false)
		pg.restore()
	}
}

func (pg *page) wrap() {
	pg.cur.x, pg.cur.pending = 0, false
	pg.index()
}

// join adds a combining character to the one before the cursor.
func (pg *page) join(r rune) {
	x := pg.cur.x
	if !pg.cur.pending {
		x--
	}
	l := pg.line()
	if x > 0 && l[x].tail {
		x--
	}
	if x >= 0 && l[x].char != 0 && len(l[x].marks)+len(string(r)) <= maxMarks {
		l[x].marks += string(r)
	}
}

// tab goes to the n-th stop to the right, or to the left.
func (pg *page) tab(n int) { pg.column(pg.tabs.from(pg.cur.x, n)) }

// column sets the cursor within its line.
func (pg *page) column(x int) { pg.cur.x, pg.cur.pending = clamp(x, 0, pg.cols-1), false }

// place sets the cursor; in origin mode lines are counted from the upper margin,
// and the cursor stays within both.
func (pg *page) place(x, y int) {
	pg.column(x)
	if pg.cur.origin {
		pg.cur.y = clamp(pg.top+y, pg.top, pg.bottom)
	} else {
		pg.cur.y = clamp(y, 0, pg.rows-1)
	}
}

// row is the cursor's line as a program counts it.
func (pg *page) row() int {
	if pg.cur.origin {
		return pg.cur.y - pg.top
	}
	return pg.cur.y
}

// vertical moves the cursor by lines, and not past a margin that it is within.
func (pg *page) vertical(n int) {
	low, high := 0, pg.rows-1
	if pg.cur.y >= pg.top {
		low = pg.top
	}
	if pg.cur.y <= pg.bottom {
		high = pg.bottom
	}
	pg.cur.y, pg.cur.pending = clamp(pg.cur.y+n, low, high), false
}

// index goes down a line, and scrolls at the lower margin.
func (pg *page) index() {
	switch {
	case pg.cur.y == pg.bottom:
		pg.scrollUp(pg.top, 1, true)
	case pg.cur.y < pg.rows-1:
		pg.cur.y++
	}
}

// reverseIndex goes up a line, and scrolls at the upper margin.
func (pg *page) reverseIndex() {
	pg.cur.pending = false
	switch {
	case pg.cur.y == pg.top:
		pg.scrollDown(pg.top, 1)
	case pg.cur.y > 0:
		pg.cur.y--
	}
}

// scrollUp takes n lines away at top and adds blank ones at the lower margin.
// What leaves at the main grid's first line is kept, unless it was deleted.
func (pg *page) scrollUp(top, n int, keep bool) {
	g := pg.lines()
	n = min(n, pg.bottom-top+1)
	for range n {
		l := g[top]
		if keep && top == 0 && !pg.alternate {
			pg.back.keep(l)
		}
		copy(g[top:], g[top+1:pg.bottom+1])
		l.erase(0, pg.cols, pg.cur.style)
		g[pg.bottom] = l
	}
}

// scrollDown takes n lines away at the lower margin and adds blank ones at top.
func (pg *page) scrollDown(top, n int) {
	g := pg.lines()
	n = min(n, pg.bottom-top+1)
	for range n {
		l := g[pg.bottom]
		copy(g[top+1:], g[top:pg.bottom])
		l.erase(0, pg.cols, pg.cur.style)
		g[top] = l
	}
}

// inMargins tells whether lines may be inserted and deleted at the cursor.
func (pg *page) inMargins() bool { return pg.cur.y >= pg.top && pg.cur.y <= pg.bottom }

func (pg *page) save() { pg.saved[pg.which()] = pg.cur }

func (pg *page) restore() {
	pg.cur = pg.saved[pg.which()]
	if pg.cur.origin {
		pg.cur.y = clamp(pg.cur.y, pg.top, pg.bottom)
	}
	if pg.noWrap {
		pg.cur.pending = false
	}
}

// switchTo shows the alternate grid or the main one.
func (pg *page) switchTo(alternate bool) {
	if alternate && pg.other == nil {
		pg.other = grid(pg.cols, pg.rows)
	}
	pg.alternate = alternate
	pg.cur.pending = false
}

// clear erases the whole grid that is shown.
func (pg *page) clear() {
	for _, l := range pg.lines() {
		l.erase(0, pg.cols, pg.cur.style)
	}
}

// which grid is shown: 0 for the main one, 1 for the alternate one.
func (pg *page) which() int {
	if pg.alternate {
		return 1
	}
	return 0
}

func (pg *page) lines() []line {
	if pg.alternate {
		return pg.other
	}
	return pg.main
}

func (pg *page) line() line { return pg.lines()[pg.cur.y] }

func (pg *page) resize(cols, rows int) {
	if cols == pg.cols && rows == pg.rows {
		return
	}
	cursors := [2]*cursor{&pg.saved[0], &pg.saved[1]} // of the grids
	cursors[pg.which()] = &pg.cur
	var gone int
	pg.main, gone = pg.fit(pg.main, cols, rows, cursors[0].y, true)
	cursors[0].y -= gone
	if pg.other != nil {
		pg.other, gone = pg.fit(pg.other, cols, rows, cursors[1].y, false)
		cursors[1].y -= gone
	}
	for _, c := range []*cursor{&pg.saved[0], &pg.saved[1], &pg.cur} {
		c.x, c.y, c.pending = min(c.x, cols-1), clamp(c.y, 0, rows-1), false
	}
	had := len(pg.tabs)
	pg.cols, pg.rows, pg.top, pg.bottom = cols, rows, 0, rows-1
	pg.tabs = append(pg.tabs[:min(had, cols):min(had, cols)], make([]bool, max(cols-had, 0))...)
	pg.tabs.usual(min(had, cols))
}

// fit gives a grid another size, and tells how many lines left at the top.
func (pg *page) fit(g []line, cols, rows, y int, keep bool) ([]line, int) {
	for len(g) > rows && len(g)-1 > y && g[len(g)-1].text() == "" {
		g = g[:len(g)-1]
	}
	gone := clamp(len(g)-rows, 0, y)
	for _, l := range g[:gone] {
		if keep {
			pg.back.keep(l)
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

// escapeMiddle is ESC, a byte that says what is meant, and one that says which.
func (pg *page) escapeMiddle(middle, c byte) {
	switch middle {
	case '(', ')':
		pg.cur.lines[middle-'('] = c == '0'
	case '#':
		if c == '8' { // DECALN: a pattern to adjust the picture by
			pg.top, pg.bottom = 0, pg.rows-1
			pg.cur.origin = false
			pg.place(0, 0)
			for _, l := range pg.lines() {
				for x := range l {
					l[x] = cell{char: 'E'}
				}
			}
		}
	}
}

// movement are the sequences that only move the cursor.
func (pg *page) movement(p *parser, c byte) bool {
	n := p.count()
	switch c {
	case 'A':
		pg.vertical(-n)
	case 'B':
		pg.vertical(n)
	case 'C':
		pg.column(pg.cur.x + n)
	case 'D':
		pg.column(pg.cur.x - n)
	case 'E':
		pg.vertical(n)
		pg.column(0)
	case 'F':
		pg.vertical(-n)
		pg.column(0)
	case 'G':
		pg.column(n - 1)
	case 'H':
		pg.place(max(p.number(1, 1), 1)-1, n-1)
	case 'I':
		pg.tab(n)
	case 'Z':
		pg.tab(-n)
	default:
		return false
	}
	return true
}

// editing are the sequences that change text.
func (pg *page) editing(p *parser, c byte) {
	n, x, l, look := p.count(), pg.cur.x, pg.line(), pg.cur.style
	switch c {
	case 'J':
		pg.eraseDisplay(p.number(0, 0))
	case 'K':
		pg.eraseLine(p.number(0, 0))
	case '@':
		pg.cur.pending = false
		l.insert(x, n, look)
	case 'P':
		pg.cur.pending = false
		l.remove(x, n, look)
	case 'X':
		pg.cur.pending = false
		l.erase(x, min(x+n, pg.cols), look)
	case 'L':
		if pg.inMargins() {
			pg.scrollDown(pg.cur.y, n)
			pg.column(0)
		}
	case 'M':
		if pg.inMargins() {
			pg.scrollUp(pg.cur.y, n, false)
			pg.column(0)
		}
	case 'S':
		pg.scrollUp(pg.top, n, true)
	case 'T':
		if len(p.params) == 1 { // with five it is about the mouse
			pg.scrollDown(pg.top, n)
		}
	}
}

func (pg *page) eraseLine(which int) {
	pg.cur.pending = false
	switch which {
	case 0:
		pg.line().erase(pg.cur.x, pg.cols, pg.cur.style)
	case 1:
		pg.line().erase(0, pg.cur.x+1, pg.cur.style)
	case 2:
		pg.line().erase(0, pg.cols, pg.cur.style)
	}
}

func (pg *page) eraseDisplay(which int) {
	g := pg.lines()
	from, upto := 0, 0
	switch which {
	case 0:
		pg.eraseLine(0)
		from, upto = pg.cur.y+1, pg.rows
	case 1:
		pg.eraseLine(1)
		upto = pg.cur.y
	case 2:
		pg.cur.pending = false
		upto = pg.rows
	case 3:
		pg.back.clear()
	}
	for _, l := range g[from:upto] {
		l.erase(0, pg.cols, pg.cur.style)
	}
}

// margins is DECSTBM; a region of less than two lines is none.
func (pg *page) margins(p *parser) {
	top, bottom := max(p.number(0, 1), 1)-1, p.number(1, pg.rows)
	if bottom == 0 || bottom > pg.rows {
		bottom = pg.rows
	}
	if top < bottom-1 {
		pg.top, pg.bottom = top, bottom-1
		pg.place(0, 0)
	}
}

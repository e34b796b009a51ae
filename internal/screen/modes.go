package screen

// ansi is SM and RM without a question mark.
func (m *modes) ansi(n int, on bool) {
	switch n {
	case 4:
		m.insert = on
	case 20:
		m.newline = on
	}
}

// private are the sequences with a question mark.
func (s *Screen) private(c byte) {
	switch c {
	case 'h', 'l':
		for i := range s.parser.params {
			s.privateMode(s.parser.number(i, 0), c == 'h')
		}
	case 'J': // selective erasing, where nothing was protected
		s.page.eraseDisplay(s.parser.number(0, 0))
	case 'K':
		s.page.eraseLine(s.parser.number(0, 0))
	case 'n':
		s.report("?")
	}
}

// plainMode is where a mode that has no other effect is kept.
func (m *modes) plainMode(n int) *bool {
	switch n {
	case 1:
		return &m.appCursor
	case 5:
		return &m.reversed
	case 9:
		return &m.mouseOld
	case 66:
		return &m.appKeypad
	case 1000:
		return &m.mouse[0]
	case 1002:
		return &m.mouse[1]
	case 1003:
		return &m.mouse[2]
	case 1004:
		return &m.focus
	case 1005:
		return &m.mouseUTF8
	case 1006:
		return &m.mouseSGR
	case 2004:
		return &m.paste
	}
	return nil
}

// plainModes are the numbers that plainMode knows.
var plainModes = []int{1, 5, 9, 66, 1000, 1002, 1003, 1004, 1005, 1006, 2004}

func (s *Screen) privateMode(n int, on bool) {
	if m := s.modes.plainMode(n); m != nil {
		*m = on
		return
	}
	switch n {
	case 6:
		s.page.cur.origin = on
		s.page.place(0, 0)
	case 7:
		s.page.noWrap = !on
		s.page.cur.pending = s.page.cur.pending && on
	case 25:
		s.modes.hidden = !on
	case 47:
		s.page.switchTo(on)
	case 1047:
		if !on && s.page.alternate {
			s.page.clear()
		}
		s.page.switchTo(on)
	case 1048:
		s.page.saveOr(on)
	case 1049:
		s.page.fullScreen(on)
	}
}

// looks is SGR: it changes a style.
func (p *parser) looks(t *style) {
	params := p.params
	for i := 0; i < len(params); {
		n := p.number(i, 0)
		i++
		subs := i
		for subs < len(params) && params[subs].sub {
			subs++
		}
		switch {
		case n == 38 || n == 48 || n == 58:
			colour, next, ok := p.colour(i, subs)
			if ok && n == 38 {
				t.fg = colour
			} else if ok && n == 48 {
				t.bg = colour
			}
			i = next
			continue
		case n == 4 && subs > i:
			t.flags &^= underline | underline2
			if kind := p.number(i, 1); kind == 2 {
				t.flags |= underline2
			} else if kind != 0 {
				t.flags |= underline
			}
		default:
			t.look(n)
		}
		i = subs
	}
}

// colour reads 5;N or 2;R;G;B, and with colons also 2::R:G:B. It tells where the
// next parameter is.
func (p *parser) colour(i, subs int) (colour uint32, next int, ok bool) {
	next, at := subs, i+1
	three := p.number(i, 0) == 2
	switch {
	case subs == i: // semicolons
		if next = i + 2; three {
			next = i + 4
		}
	case three && subs-i > 4:
		at++ // a colour space, which nobody uses
	}
	if three {
		var rgb uint32
		for j := at; j < at+3; j++ {
			rgb = rgb<<8 | uint32(min(p.number(j, 0), 255))
		}
		return rgbColour | rgb, next, at+3 <= min(next, len(p.params))
	}
	n := p.number(at, 0)
	return paletteColour | uint32(n&255), next, p.number(i, 0) == 5 && n <= 255 && at < min(next, len(p.params))
}

// attributes are the numbers that set one: SGR 1 to 9, and 21.
var attributes = map[int]uint16{1: bold, 2: faint, 3: italic, 4: underline, 5: blink, 6: blink, 7: reverse, 8: conceal, 9: strike, 21: underline2}

// endings are the numbers that end attributes.
var endings = map[int]uint16{22: bold | faint, 23: italic, 24: underline | underline2, 25: blink, 27: reverse, 28: conceal, 29: strike}

func (t *style) look(n int) {
	switch {
	case n == 0:
		*t = style{}
	case attributes[n] != 0:
		t.flags |= attributes[n]
	case endings[n] != 0:
		t.flags &^= endings[n]
	case n >= 30 && n <= 37:
		t.fg = paletteColour | uint32(n-30)
	case n == 39:
		t.fg = 0
	case n >= 40 && n <= 47:
		t.bg = paletteColour | uint32(n-40)
	case n == 49:
		t.bg = 0
	case n >= 90 && n <= 97:
		t.fg = paletteColour | uint32(n-90+8)
	case n >= 100 && n <= 107:
		t.bg = paletteColour | uint32(n-100+8)
	}
}

package screen

func (s *Screen) ansiModes(on bool) {
	for i := range s.parser.params {
		switch s.number(i, 0) {
		case 4:
			s.modes.insert = on
		case 20:
			s.modes.newline = on
		}
	}
}

// private are the sequences with a question mark.
func (s *Screen) private(c byte) {
	switch c {
	case 'h', 'l':
		for i := range s.parser.params {
			s.privateMode(s.number(i, 0), c == 'h')
		}
	case 'J': // selective erasing, where nothing was protected
		s.eraseDisplay(s.number(0, 0))
	case 'K':
		s.eraseLine(s.number(0, 0))
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
		s.cur.origin = on
		s.place(0, 0)
	case 7:
		s.modes.noWrap = !on
		s.cur.pending = s.cur.pending && on
	case 25:
		s.modes.hidden = !on
	case 47:
		s.switchTo(on)
	case 1047:
		if !on && s.alternate {
			s.clear()
		}
		s.switchTo(on)
	case 1048:
		s.saveOr(on)
	case 1049:
		s.fullScreen(on)
	}
}

func (s *Screen) saveOr(on bool) {
	if on {
		s.save()
	} else {
		s.restore()
	}
}

// fullScreen is mode 1049: the main grid and its cursor wait until the program
// is done.
func (s *Screen) fullScreen(on bool) {
	switch {
	case on && !s.alternate:
		s.save()
		s.switchTo(true)
		s.clear()
	case !on && s.alternate:
		s.switchTo(false)
		s.restore()
	}
}

// looks is SGR.
func (s *Screen) looks() {
	params := s.parser.params
	for i := 0; i < len(params); {
		n := s.number(i, 0)
		i++
		subs := i
		for subs < len(params) && params[subs].sub {
			subs++
		}
		switch {
		case n == 38 || n == 48 || n == 58:
			colour, next, ok := s.colour(i, subs)
			if ok && n == 38 {
				s.cur.style.fg = colour
			} else if ok && n == 48 {
				s.cur.style.bg = colour
			}
			i = next
			continue
		case n == 4 && subs > i:
			s.cur.style.flags &^= underline | underline2
			if kind := s.number(i, 1); kind == 2 {
				s.cur.style.flags |= underline2
			} else if kind != 0 {
				s.cur.style.flags |= underline
			}
		default:
			s.cur.style.look(n)
		}
		i = subs
	}
}

// colour reads 5;N or 2;R;G;B, and with colons also 2::R:G:B. It tells where the
// next parameter is.
func (s *Screen) colour(i, subs int) (colour uint32, next int, ok bool) {
	next, at := subs, i+1
	three := s.number(i, 0) == 2
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
			rgb = rgb<<8 | uint32(min(s.number(j, 0), 255))
		}
		return rgbColour | rgb, next, at+3 <= min(next, len(s.parser.params))
	}
	n := s.number(at, 0)
	return paletteColour | uint32(n&255), next, s.number(i, 0) == 5 && n <= 255 && at < min(next, len(s.parser.params))
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

// Package screen is a terminal without a window: programs write to it as they would to xterm.
// Their screen can be read as text, be sent keys, and be painted on a real terminal for a person
// who attaches.
//
// [New] makes a [Screen], [Screen.Write] takes what the program says, and [Screen.Answers] has
// what the terminal says back. [Screen.Key] and [Screen.Paste] give the bytes of a person who
// types. A Screen is for one goroutine at a time; who shares it holds a lock.
//
// # Words
//
//   - The pending wrap: after the last column was written the cursor stays on it,
//     and only the next character goes to the next line.
//   - Margins: the lines that scroll (DECSTBM). Origin mode counts lines from the
//     upper margin.
//   - Two grids: the main one, whose upper lines go to the scrollback, and the
//     alternate one of programs that use the whole screen.
//
// # What is understood
//
// What xterm and the VT220 share and programs use: UTF-8, wide and combining
// characters, cursor movement, erasing, inserting, scrolling, margins, tabs,
// colours, line drawing, modes, titles. In a doubt xterm decides. Everything
// else is passed over, and strings (OSC, DCS, APC) take no memory, however long
// they are. Eight-bit controls are not: in UTF-8 they are parts of characters, and
// those that come encoded (U+0080 to U+009F) are left out. Lines are not joined
// and broken anew when the width changes.
//
// The bytes are a stranger's. Sizes, parameters, titles, answers, combining
// characters and the scrollback are bounded, nothing recurses, and what
// [Screen.Redraw] gives consists of printable characters and sequences of ours.
//
// The package imports nothing of this module, and knows no operating system.
package screen

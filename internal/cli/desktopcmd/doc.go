// Package desktopcmd holds the commands about the hidden desktop of a workspace: to see it
// (screenshot, windows, a11y, screen, record, watch), to act on it (click, drag, scroll,
// key, type, input, computer, window) and to carry a clipboard to it and from it.
//
// A command makes one request to the workspace and prints the reply. Places and sizes are
// checked for their form here; what is at a place, the workspace knows.
package desktopcmd

import "carrel/internal/cli/cmdenv"

// Commands are the commands of this package.
func Commands() []cmdenv.Command {
	return []cmdenv.Command{
		{Name: "screenshot", Make: screenshotCommand},
		{Name: "windows", Make: windowsCommand},
		{Name: "window", Make: windowCommand},
		{Name: "click", Make: clickCommand},
		{Name: "drag", Make: dragCommand},
		{Name: "scroll", Make: scrollCommand},
		{Name: "key", Make: keyCommand},
		{Name: "type", Make: typeCommand},
		{Name: "input", Make: inputCommand},
		{Name: "computer", Make: computerCommand},
		{Name: "clipboard", Make: clipboardCommand},
		{Name: "a11y", Make: a11yCommand},
		{Name: "screen", Make: screenCommand},
		{Name: "record", Make: recordCommand},
		{Name: "watch", Make: watchCommand},
	}
}

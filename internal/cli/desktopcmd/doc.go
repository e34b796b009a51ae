// Package desktopcmd holds the commands about the hidden desktop of a workspace: to see it
// (screenshot, windows, a11y, screen, record, watch); to act on it (click, drag, scroll, key,
// type, input, computer, window) and to carry a clipboard to it and from it.
//
// A command makes one request to the workspace and prints the reply. Places and sizes are
// checked for their form here; what is at a place, the workspace knows.
package desktopcmd

import (
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"

	"github.com/spf13/cobra"
)

// Commands are the commands of this package: one, and for one release the names that those
// below it had before, which no help shows.
func Commands() []cmdenv.Command {
	out := []cmdenv.Command{{Name: "desktop", Make: desktopCommand}}
	for _, c := range verbs() {
		out = append(out, cmdenv.Command{Name: c.Name, Make: func(env *cmdenv.Env) *cobra.Command {
			cmd := c.Make(env)
			cmd.Hidden = true
			return cmd
		}})
	}
	return out
}

func desktopCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "desktop",
		Short: "See and use the desktop of a workspace",
		Long: `See the hidden desktop of a workspace, act on it, and carry a clipboard to it and
from it. A workspace has one that was started with --display virtual.
` + cmdline.PlainStatus,
		Example: "  carrel desktop screenshot dev -o shot.png\n  carrel desktop click dev 100 200",
	}
	var children []*cobra.Command
	for _, c := range verbs() {
		children = append(children, c.Make(env))
	}
	return cmdline.Group(cmd, children...)
}

// verbs are what can be done with a desktop.
func verbs() []cmdenv.Command {
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

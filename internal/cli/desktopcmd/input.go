package desktopcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/outfile"
	"carrel/internal/show"
	"carrel/internal/strictjson"

	"github.com/spf13/cobra"
)

// act has steps done.
func act(env *cmdenv.Env, cmd *cobra.Command, name string, steps ...api.DesktopInput) error {
	_, _, err := doDesktop(cmd.Context(), env, name, &api.Desktop{Steps: steps})
	return err
}

// between is a check of the number of arguments.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return fmt.Errorf("%q takes %s, got %q\nhint: %s", cmd.CommandPath(), what, args, cmdline.Usage(cmd))
	}
}

func clickCommand(env *cmdenv.Env) *cobra.Command {
	s := api.DesktopInput{Do: "click"}
	var double, move bool
	cmd := &cobra.Command{
		Use:   "click NAME [X Y] [flags]",
		Short: "Click on a workspace's desktop",
		Long: `Clicks at X, Y of the screen, or where the pointer is.
` + desktopHelp,
		Example: `  carrel desktop click dev 400 300
  carrel desktop click dev 400 300 --button 3
  carrel desktop click dev 400 300 --double --keys ctrl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 3 {
				return nil
			}
			return fmt.Errorf("%q takes a workspace and X Y, got %q\nhint: %s", cmd.CommandPath(), args, cmdline.Usage(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) == 3 {
				if s.At, err = placeOf(args[1], args[2]); err != nil {
					return err
				}
			}
			if double {
				s.Count = 2
			}
			if move {
				s.Do = "move"
			}
			return act(env, cmd, args[0], s)
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().IntVar(&s.Button, "button", 1, "1 left, 2 middle, 3 right, 8 back, 9 forward")
	cmd.Flags().IntVar(&s.Count, "count", 1, "how often, quickly")
	cmd.Flags().BoolVar(&double, "double", false, "twice")
	cmd.Flags().BoolVar(&move, "move", false, "only move the pointer there")
	cmd.Flags().StringVar(&s.Keys, "keys", "", "held meanwhile, as ctrl+shift")
	cmdline.OneOf(cmd, "double", "count")
	return cmd
}

func dragCommand(env *cmdenv.Env) *cobra.Command {
	s := api.DesktopInput{Do: "drag"}
	var takes time.Duration
	cmd := &cobra.Command{
		Use:     "drag NAME X1 Y1 X2 Y2 [flags]",
		Short:   "Drag something on a workspace's desktop",
		Long:    "Presses a button at X1, Y1, moves to X2, Y2 with places in between, and lets go.\n" + desktopHelp,
		Example: "  carrel desktop drag dev 100 100 500 300\n  carrel desktop drag dev 100 100 500 300 --for 1s --keys shift",
		Args:    between(5, 5, "a workspace and two places"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if s.From, err = placeOf(args[1], args[2]); err != nil {
				return err
			}
			if s.At, err = placeOf(args[3], args[4]); err != nil {
				return err
			}
			s.Millis = millis(takes)
			return act(env, cmd, args[0], s)
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().IntVar(&s.Button, "button", 1, "1 left, 2 middle, 3 right")
	cmd.Flags().DurationVar(&takes, "for", 0, "how long it takes (default 200ms)")
	cmd.Flags().StringVar(&s.Keys, "keys", "", "held meanwhile, as ctrl+shift")
	return cmd
}

func scrollCommand(env *cmdenv.Env) *cobra.Command {
	s := api.DesktopInput{Do: "scroll"}
	var at string
	cmd := &cobra.Command{
		Use:     "scroll NAME up|down|left|right [NOTCHES] [flags]",
		Short:   "Turn the wheel on a workspace's desktop",
		Long:    "Turns the wheel by NOTCHES (1), where the pointer is or at --at.\n" + desktopHelp,
		Example: "  carrel desktop scroll dev down 5\n  carrel desktop scroll dev up 3 --at 400,300",
		Args:    between(2, 3, "a workspace, a direction and perhaps a number"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if s.At, err = atFlag("--at", at); err != nil {
				return err
			}
			if s.Direction, s.Count = args[1], 1; len(args) == 3 {
				if s.Count, err = strconv.Atoi(args[2]); err != nil || s.Count < 1 {
					return fmt.Errorf("%q notches: want a number of 1 or more", args[2])
				}
			}
			return act(env, cmd, args[0], s)
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().StringVar(&at, "at", "", "there: X,Y")
	cmd.Flags().StringVar(&s.Keys, "keys", "", "held meanwhile, as ctrl")
	return cmd
}

func keyCommand(env *cmdenv.Env) *cobra.Command {
	s := api.DesktopInput{Do: "key"}
	var hold time.Duration
	cmd := &cobra.Command{
		Use:   "key NAME KEY... [flags]",
		Short: "Press keys on a workspace's desktop",
		Long: `Presses keys by their names, one after the other, in the window that has the keyboard:
Return, Escape, Tab, F5, PageUp, a, ctrl+shift+t, alt+F4. The names of X work too.
` + desktopHelp,
		Example: `  carrel desktop key dev ctrl+s
  carrel desktop key dev Down Down Return
  carrel desktop key dev Down --count 20`,
		Args: between(2, -1, "a workspace and keys"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Keys, s.Millis = strings.Join(args[1:], " "), millis(hold)
			return act(env, cmd, args[0], s)
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().IntVar(&s.Count, "count", 1, "how often, all of them")
	cmd.Flags().DurationVar(&hold, "hold", 0, "hold each down for so long")
	return cmd
}

// maxTyped is how much text goes into one request, which is a line.
const maxTyped = 64 << 10

func typeCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "type NAME [--] TEXT|-",
		Short: "Type text on a workspace's desktop",
		Long: `Types TEXT, whatever characters it has, in the window that has the keyboard; - reads it
from standard input. What is typed is not written down, only how much. A newline is the
key Return.
` + desktopHelp,
		Example: `  carrel desktop type dev 'Grüße, 你好'
  carrel desktop type dev -- '--help'
  carrel desktop type dev - < notes.txt`,
		Args: between(2, 2, "a workspace and a text"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := args[1]
			if text == "-" {
				var err error
				if text, err = cmdenv.ReadText(env.In); err != nil {
					return err
				}
			}
			if i := strings.IndexFunc(strings.ToValidUTF8(text, "\x00"), func(r rune) bool { return r == 0 }); i >= 0 {
				return fmt.Errorf("the text is not UTF-8, or has a zero, at byte %d: nothing was typed", i)
			}
			for text != "" {
				part := typedPart(text)
				if err := act(env, cmd, args[0], api.DesktopInput{Do: "type", Text: part}); err != nil {
					return err
				}
				text = text[len(part):]
			}
			return nil
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	return cmd
}

// typedPart is as much of a text as goes into one request, cut between characters.
func typedPart(text string) string {
	if len(text) <= maxTyped {
		return text
	}
	n := maxTyped
	for n > maxTyped-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func inputCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "input NAME < INPUTS",
		Short: "Do many things with mouse and keyboard in one request",
		Long: `Reads a JSON list of inputs from standard input and does them one after the other; no
other comes between them. The first mistake ends it. An input is an object with "do":
move, click, press, release, drag, scroll, key, type or pause, and "at", "from",
"button", "count", "direction", "keys", "text", "millis" as far as it takes them.
` + desktopHelp,
		Example: `  echo '[{"do":"click","at":[400,300]},{"do":"type","text":"hello"}]' |
    carrel desktop input dev`,
		Args: cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := cmdenv.ReadText(env.In)
			if err != nil {
				return err
			}
			var steps []api.DesktopInput
			if err := strictjson.Decode([]byte(text), &steps); err != nil {
				return fmt.Errorf("standard input: want a JSON list of inputs: %w", err)
			}
			return act(env, cmd, args[0], steps...)
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	return cmd
}

func computerCommand(env *cmdenv.Env) *cobra.Command {
	c := &api.Computer{}
	var file, size string
	var asJSON, told bool
	cmd := &cobra.Command{
		Use:   "computer NAME [ACTION|-] [flags]",
		Short: "Do one action of Anthropic's computer-use tool",
		Long: `Takes the input of one call of the tool as JSON, in the forms of computer_20241022,
computer_20250124 and computer_20251124, and does it. Coordinates are those of the pictures that the model sees,
whose size --told prints; a picture goes to -o FILE. The names take_screenshot, click_at
and type_text work as well.
` + desktopHelp,
		Example: `  carrel desktop computer dev --told
  carrel desktop computer dev '{"action":"left_click","coordinate":[512,384]}'
  carrel desktop computer dev '{"action":"screenshot"}' -o seen.png`,
		Args: between(1, 2, "a workspace and an action"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if size != "" {
				if c.Width, c.Height, err = sizeOf("--size", size); err != nil {
					return err
				}
			}
			if told {
				said, _, err := seeDesktop(cmd.Context(), env, args[0], &api.Desktop{PictureSize: &c.ComputerSize})
				if err == nil && said.Size == nil {
					err = errShort
				}
				if err == nil {
					fmt.Fprintf(env.Out, "%dx%d\n", said.Size[0], said.Size[1])
				}
				return err
			}
			text := "-"
			if len(args) == 2 {
				text = args[1]
			}
			if text == "-" {
				if text, err = cmdenv.ReadText(env.In); err != nil {
					return err
				}
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, []byte(text)); err != nil {
				return fmt.Errorf("the action: want a JSON object: %w", err)
			}
			c.Input = compact.Bytes()
			said, data, err := doDesktop(cmd.Context(), env, args[0], &api.Desktop{Action: c})
			if err != nil {
				return err
			}
			if len(data) > 0 {
				if err := outfile.Data(file, env.Out, data); err != nil {
					return err
				}
			}
			if asJSON {
				return show.JSON(env.Out, said)
			}
			if said.Text != "" {
				fmt.Fprintln(env.Out, show.OneLine(said.Text))
			}
			return nil
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().StringVar(&c.Version, "version", "", "20241022, 20250124 or 20251124 (the default)")
	cmd.Flags().StringVar(&size, "size", "", "bound the pictures: WIDTHxHEIGHT (default one of the usual sizes)")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the picture to this file")
	cmd.Flags().BoolVar(&told, "told", false, "print the size of the pictures")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer as JSON")
	return cmd
}

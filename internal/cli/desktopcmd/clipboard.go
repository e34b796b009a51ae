package desktopcmd

import (
	"fmt"
	"io"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/memfile"
	"carrel/internal/outfile"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func clipboardCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "clipboard",
		Short: "Read and set the clipboard of a workspace's desktop",
		Long: `The clipboard of the hidden desktop, which is not yours: text, pictures and any other
format, and what was marked last (--primary).
` + cmdline.PlainStatus,
		Example: `  carrel desktop clipboard get dev
  carrel desktop clipboard set dev --type image/png < picture.png`,
	}
	return cmdline.Group(cmd, append(clipboardBridgeCommands(env), clipboardGetCommand(env), clipboardSetCommand(env))...)
}

func clipFlags(cmd *cobra.Command, c *api.Clip) {
	cmd.Flags().StringVar(&c.Type, "type", "", "its format, as image/png (default text)")
	cmd.Flags().Bool("primary", false, "what was marked last, and not what was copied")
}

func selected(cmd *cobra.Command) string {
	if on, _ := cmd.Flags().GetBool("primary"); on {
		return "primary"
	}
	return "clipboard"
}

func clipboardGetCommand(env *cmdenv.Env) *cobra.Command {
	c := &api.Clip{}
	var file string
	cmd := &cobra.Command{
		Use:   "get NAME [flags]",
		Short: "Print what was copied",
		Long:  "Prints what was copied, as it is; --types lists its formats.\n" + desktopHelp,
		Example: "  carrel desktop clipboard get dev\n" +
			"  carrel desktop clipboard get dev --type image/png -o picture.png\n  carrel desktop clipboard get dev --types",
		Args: cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Selection = selected(cmd)
			said, data, err := seeDesktop(cmd.Context(), env, args[0], &api.Desktop{Paste: c})
			if err != nil {
				return err
			}
			if said.Type == api.TypeText && file == "" && show.IsTerminal(env.Out) {
				fmt.Fprintln(env.Out, show.Escape(string(data)))
				return nil
			}
			if c.Targets || said.Type == api.TypeText && file == "" {
				_, err = env.Out.Write(data)
				return err
			}
			return outfile.Data(file, env.Out, data)
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	clipFlags(cmd, c)
	cmd.Flags().BoolVar(&c.Targets, "types", false, "list its formats, as JSON")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write it to this file")
	return cmd
}

func clipboardSetCommand(env *cmdenv.Env) *cobra.Command {
	c := &api.Clip{}
	cmd := &cobra.Command{
		Use:     "set NAME [flags]",
		Short:   "Copy what comes on standard input",
		Long:    "Reads standard input, at most 64 MiB, and offers it to the programs of the desktop.\n" + desktopHelp,
		Example: "  echo hello | carrel desktop clipboard set dev\n  carrel desktop clipboard set dev --type image/png < picture.png",
		Args:    cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Selection = selected(cmd)
			f, err := memfile.New("clipboard")
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := io.Copy(f, io.LimitReader(env.In, maxCopied+1)); err != nil {
				return fmt.Errorf("reading standard input: %w", err)
			}
			if st, err := f.Stat(); err == nil && st.Size() > maxCopied {
				return fmt.Errorf("standard input has more than %d bytes", maxCopied)
			}
			_, _, err = doDesktop(cmd.Context(), env, args[0], &api.Desktop{Copy: c}, f)
			return err
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	clipFlags(cmd, c)
	return cmd
}

// maxCopied bounds what is copied, in bytes.
const maxCopied = 64 << 20

package configcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/foreign"
	"carrel/internal/jsontree"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// exitLost says that a policy was printed and does not hold all that it was
// made from.
const exitLost = 1

type importFlags struct {
	cwd         string
	lossy, json bool
}

func importCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Make a policy for carrel sandbox of another sandbox's file",
		Long: `Reads a policy file of another sandbox and prints a policy for carrel sandbox.

Nothing is widened. A grant that is not understood, or would be more here than
there, is left out and listed on standard error. A restriction that cannot be
carried over is an error, and so is a key that is not known; --lossy goes on
without it and lists it.
` + importStatusHelp,
		Example: `  carrel import codex ~/.codex/config.toml >policy.json
  carrel import srt ~/.srt-settings.json >policy.json
  fence config show 2>/dev/null | carrel import fence --lossy -`,
	}
	return cmdline.Group(cmd,
		importFrom(env, "codex", "the sandbox policy of Codex, or its configuration", foreign.Codex,
			"Takes the legacy form (sandbox modes), the split form (kind and entries), a\npermission profile, all in JSON, or config.toml."),
		importFrom(env, "srt", "the settings of Anthropic's sandbox runtime", foreign.SRT,
			"Takes ~/.srt-settings.json, or what srt --settings takes."),
		importFrom(env, "fence", "the settings of fence", foreign.Fence,
			"Takes fence.json or fence.jsonc. What it extends is not read: give the output of\nfence config show then."),
	)
}

const importStatusHelp = `
Exit status:
  0    all was carried over
  1    a policy was printed, and something was not carried over
  125  there is no policy: a restriction could not be carried over, or something
       went wrong`

func importFrom(env *cmdenv.Env, name, what string, read func([]byte, foreign.Options) (*foreign.Imported, error), takes string) *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use:   name + " [flags] FILE",
		Short: "Import " + what,
		Long: "Prints a policy for carrel sandbox made of " + what + ".\n" + takes + ` "-" is standard input.

Relative places are those of the working directory, or of --cwd: the policy is
for that directory.
` + importStatusHelp,
		Example: fmt.Sprintf("  carrel import %s FILE >policy.json\n  carrel import %s --json - <FILE", name, name),
		Args:    cmdline.OneArg("a FILE"),
		RunE:    func(_ *cobra.Command, args []string) error { return runImport(env, f, args[0], read) },
	}
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "the directory that the policy is for")
	cmd.Flags().BoolVar(&f.lossy, "lossy", false, "go on without restrictions that cannot be carried over")
	cmd.Flags().BoolVar(&f.json, "json", false, `print {"policy": ..., "lost": [...]} on standard output`)
	cmdline.NotEmpty(cmd, "cwd")
	return cmd
}

func runImport(env *cmdenv.Env, f *importFlags, file string, read func([]byte, foreign.Options) (*foreign.Imported, error)) error {
	cwd, err := filepath.Abs(f.cwd)
	if err != nil {
		return fmt.Errorf("finding the working directory: %w", err)
	}
	data, err := readForeign(env, file)
	if err != nil {
		return err
	}
	in, err := read(data, foreign.Options{Cwd: cwd, Home: env.Getenv("HOME"), TmpDir: env.Getenv("TMPDIR"), Lossy: f.lossy, GitFile: gitFile})
	if err != nil {
		return notImported(env, f, file, err)
	}
	if err := printImported(env, f, in); err != nil {
		return err
	}
	if len(in.Lost) > 0 {
		env.Status = exitLost
	}
	return nil
}

// gitFile reads a .git that is a regular file.
func gitFile(place string) string {
	if st, err := os.Lstat(place); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.OpenFile(place, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, 8<<10))
	if err != nil {
		return ""
	}
	return string(data)
}

// readForeign reads a bounded regular file, or standard input.
func readForeign(env *cmdenv.Env, file string) ([]byte, error) {
	r := env.In
	if file != "-" {
		f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO is not waited for
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", file, cmdline.Cause(err))
		}
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			f.Close()
			return nil, fmt.Errorf("reading %q: it is no regular file; give - for standard input", file)
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, jsontree.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", file, err)
	}
	if len(data) > jsontree.MaxSize {
		return nil, fmt.Errorf("reading %q: it is larger than %d bytes", file, jsontree.MaxSize)
	}
	return data, nil
}

// importedJSON is what --json prints. Without a policy something stands against
// one.
type importedJSON struct {
	Policy any            `json:"policy"`
	Lost   []foreign.Loss `json:"lost"`
	Error  api.Text       `json:"error,omitempty"`
}

func printImported(env *cmdenv.Env, f *importFlags, in *foreign.Imported) error {
	if f.json {
		return show.JSON(env.Out, importedJSON{Policy: in.Policy, Lost: append([]foreign.Loss{}, in.Lost...)})
	}
	for _, l := range in.Lost {
		word := "left out"
		if l.Restriction {
			word = "NOT HELD"
		}
		fmt.Fprintf(env.Err, "carrel: %s: %s\n", word, show.OneLine(l.String()))
	}
	return show.JSON(env.Out, in.Policy)
}

func notImported(env *cmdenv.Env, f *importFlags, file string, err error) error {
	if f.json {
		out := importedJSON{Lost: []foreign.Loss{}, Error: api.Text(err.Error())}
		var lost *foreign.Error
		if errors.As(err, &lost) {
			out.Lost = lost.Lost
		}
		if jsonErr := show.JSON(env.Out, out); jsonErr != nil {
			return jsonErr
		}
	}
	var syntax *jsontree.Error
	if errors.As(err, &syntax) {
		return fmt.Errorf("%s:%w", file, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

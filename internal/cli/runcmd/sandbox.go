package runcmd

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/lowlevel"
	"carrel/internal/show"
	"carrel/internal/stdio"
	"carrel/sandbox/policyfile"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// SandboxArg0 is the name under which the program is `carrel sandbox`.
const SandboxArg0 = "carrel-sandbox"

// sandboxFlags are the flags of sandbox.
type sandboxFlags struct {
	policy           string
	policyFD, result int
	json             bool
}

func sandboxCommand(env *cmdenv.Env) *cobra.Command {
	f := &sandboxFlags{}
	cmd := &cobra.Command{
		Use:   "sandbox (--policy FILE | --policy-fd N) [--json] -- COMMAND [ARG...]",
		Short: "Run a command under exactly the policy of one file, for other programs",
		Long: `Runs COMMAND behind walls under exactly the policy that is given, or refuses.
Nothing else is asked: no configuration, no project, no persona, no known agent,
no preset, no default. The format is JSON, see docs/sandbox.md; carrel import
makes it of other programs' files.

Started by the name carrel-sandbox, a link to the program, carrel is this command.

Nothing of ours is written to standard error but an error. --json adds the
result there when the command has ended, --result-fd writes it to another
descriptor.
` + cmdline.CommandStatus,
		Example: `  carrel sandbox --policy policy.json -- make test
  carrel sandbox --policy-fd 3 --result-fd 4 -- ./build \
    3<policy.json 4>result.json
  carrel-sandbox --policy policy.json -- true`,
		RunE: func(cmd *cobra.Command, args []string) error { return sandbox(env, cmd, f, args) },
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.StringVar(&f.policy, "policy", "", "the policy, a regular file")
	fs.IntVar(&f.policyFD, "policy-fd", -1, "read the policy from this descriptor, a file or a pipe, to its end")
	fs.IntVar(&f.result, "result-fd", -1, "write the result to this descriptor as one line of JSON")
	fs.BoolVar(&f.json, "json", false, "print the result as JSON on standard error when the command has ended")
	cmdline.OneOf(cmd, "policy", "policy-fd")
	once(cmd, "policy", "policy-fd", "result-fd")
	cmdline.NotEmpty(cmd, "policy")
	cmdline.CompleteFlag(cmd, "policy-fd", cobra.NoFileCompletions)
	cmdline.CompleteFlag(cmd, "result-fd", cobra.NoFileCompletions)
	return cmd
}

func sandbox(env *cmdenv.Env, cmd *cobra.Command, f *sandboxFlags, argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return fmt.Errorf("no command given\nhint: %s", cmdline.Usage(cmd))
	}
	tell, err := resultTo(env, cmd, f)
	if err != nil {
		return err
	}
	if err := env.UnderNoCeiling("carrel sandbox", "carrel run is decided under the ceiling"); err != nil {
		return errors.Join(err, tell(lowlevel.Refused(err)))
	}
	p, name, err := f.read(cmd)
	if err != nil {
		return errors.Join(err, tell(lowlevel.Refused(err)))
	}
	r, err := lowlevel.Run(p, name, argv, env.Environ)
	status := r.Exit
	if untold := tell(r); untold != nil {
		status, err = api.ExitOurs, errors.Join(err, fmt.Errorf("telling the result (status %d): %w", r.Exit, untold))
	}
	if err != nil {
		return &cmdenv.ExitError{Status: status, Err: err}
	}
	env.Status = r.Exit
	if r.Signal != "" {
		stdio.DieBy(syscall.Signal(r.Exit - 128))
	}
	return nil
}

// onceValue is the value of a flag that may be given once.
type onceValue struct {
	pflag.Value
	given bool
}

func (v *onceValue) Set(text string) error {
	if v.given {
		return errors.New("it is given twice")
	}
	v.given = true
	return v.Value.Set(text)
}

// once refuses flags that are given twice: the last one would hold.
func once(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		f.Value = &onceValue{Value: f.Value}
	}
}

// read gives the policy and what it is called in messages.
func (f *sandboxFlags) read(cmd *cobra.Command) (*policyfile.Policy, string, error) {
	switch fd := f.policyFD; {
	case f.policy != "":
		p, err := policyfile.ReadFile(f.policy)
		return p, f.policy, err
	case !cmd.Flags().Changed("policy-fd"):
		return nil, "", fmt.Errorf("no policy given\nhint: %s", cmdline.Usage(cmd))
	case fd < 0 || fd == 1 || fd == 2:
		return nil, "", fmt.Errorf("--policy-fd %d: want a descriptor to read from, 0 or 3 and more", fd)
	}
	name := fmt.Sprintf("of descriptor %d", f.policyFD)
	file := descriptor(f.policyFD)
	if file == nil {
		return nil, name, fmt.Errorf("--policy-fd %d: it is not open", f.policyFD)
	}
	p, err := policyfile.ReadFrom(file, name)
	if err == nil && f.policyFD > 2 {
		file.Close()
	}
	return p, name, err
}

// resultTo gives what tells the result, and refuses a descriptor that is not
// open before anything is done.
func resultTo(env *cmdenv.Env, cmd *cobra.Command, f *sandboxFlags) (func(*lowlevel.Result) error, error) {
	var file *os.File
	if cmd.Flags().Changed("result-fd") {
		if f.result < 1 || f.result == f.policyFD {
			return nil, fmt.Errorf("--result-fd %d: want a descriptor of its own to write to, 1 or more", f.result)
		}
		if file = descriptor(f.result); file == nil {
			return nil, fmt.Errorf("--result-fd %d: it is not open", f.result)
		}
	}
	return func(r *lowlevel.Result) error {
		line, err := r.JSON()
		if err != nil || !f.json && file == nil {
			return err
		}
		line = append(show.PlainJSON(line[:len(line)-1]), '\n')
		if f.json {
			_, err = env.Err.Write(line)
		}
		if file != nil {
			_, fileErr := file.Write(line)
			err = errors.Join(err, fileErr)
		}
		return err
	}, nil
}

// descriptor is an open one, nil where it is not. The standard ones are the
// process's own: a second file of one would close it when nobody looks.
func descriptor(fd int) *os.File {
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if int(f.Fd()) == fd {
			return f
		}
	}
	f := os.NewFile(uintptr(fd), fmt.Sprintf("descriptor %d", fd))
	if f == nil {
		return nil
	}
	if _, err := f.Stat(); err != nil {
		return nil
	}
	return f
}

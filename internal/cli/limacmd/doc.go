// Package limacmd holds the commands about the virtual machines of backend lima: lima and what
// is below it. They list the machines that were made here, start a shell in one, make one anew and
// take away those of projects that are gone.
package limacmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/lima"

	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
func Commands() []cmdenv.Command { return []cmdenv.Command{{Name: "lima", Make: limaCommand}} }

func limaCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lima",
		Short: "List the virtual machines of backend lima, enter, renew and remove them",
		Long: `Each project that is worked on with --backend lima has a machine of its own, which stays
when a command ends. These commands are about those that Carrel made, and no others of
Lima's.
` + cmdline.PlainStatus,
		Example: `  carrel lima list
  carrel lima shell
  carrel lima carrel run -- make
  carrel lima prune --dry-run`,
	}
	return cmdline.Group(cmd, listCommand(env), shellCommand(env), carrelCommand(env), recreateCommand(env), pruneCommand(env))
}

// find finds limactl for a person.
func find(ctx context.Context, env *cmdenv.Env, op string) (*lima.Program, error) {
	if err := Personal(env, op); err != nil {
		return nil, err
	}
	return lima.Find(ctx, env.Environ, os.Getuid())
}

// Personal refuses a process that an agent has started, and one that is held to a ceiling: the
// machines are the user's.
func Personal(env *cmdenv.Env, op string) error {
	if why := env.Caller().ByAgent(); why != nil {
		why.Operation, why.Message = op, "only a person or their script may use machines: "+why.Subject
		why.Hint = "type `carrel " + op + "` yourself, in a terminal of your own outside the workspace"
		return why
	}
	u, err := env.Caller().Session()
	if err != nil {
		return err
	}
	if u.Session.Restricted() {
		return &api.Denial{Code: api.CodeCeiling, Operation: op, Subject: op, Rule: "ceiling", Source: u.Hash(),
			Message: "ceiling: " + op + " is about machines of the user, and the ceiling that holds here is not",
			Hint:    "run it without a ceiling"}
	}
	return nil
}

// interruptible is a context that ends with ^C and TERM.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

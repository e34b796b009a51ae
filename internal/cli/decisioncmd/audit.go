package decisioncmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/audit"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/named"
	"carrel/internal/show"

	"carrel/internal/statedir"
	"github.com/spf13/cobra"
)

// auditEye is how often --follow looks for more.
const auditEye = 200 * time.Millisecond

func auditCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show what was asked of a workspace and decided, and check that it is unchanged",
		Long: `A workspace that stays writes down who asked for what and how it was decided: requests,
approvals, refusals, connections, steps of the history, changes of its control. Each
record carries the hash of the one before, so that a change made later is found.
` + cmdline.PlainStatus,
		Example: "  carrel audit verify dev\n  carrel audit show dev --decision refused",
		Args:    cmdline.NoArgs,
	}
	cmd.AddCommand(auditListCommand(env), auditVerifyCommand(env), auditShowCommand(env), auditExportCommand(env))
	return cmd
}

func auditVerifyCommand(env *cmdenv.Env) *cobra.Command {
	var head string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify NAME|FILE [flags]",
		Short: "Check an audit log from its first record to its last",
		Long: `Reads the audit log of a workspace, running or not, or a copy of one. Says whether each
record goes on from the one before. What was changed, left out, put in or moved is
found, and the first record that does not hold is named.

Cutting records off the end is found with --head only: the hash that an earlier verify
has printed, kept where those who may change the log cannot write. A word with a slash
in it is a file.

Exit status:
  0    it holds
  1    it does not
  125  carrel refused or went wrong`,
		Example: "  carrel audit verify dev\n  carrel audit verify dev --head 5f0c...\n  carrel audit verify ./copy.jsonl --json",
		Args:    cmdline.OneArg("a workspace or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			head = strings.ToLower(strings.TrimSpace(head))
			if head == "" && cmd.Flags().Changed("head") { // of a variable that is not set: it would check less than was asked for
				return errors.New("--head is empty\nhint: give the hash that was noted, or leave it out")
			}
			s, err := openAudit(env, "audit verify", args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			r, err := s.Verify(head)
			if err != nil {
				return err
			}
			if !r.OK {
				env.Status = 1
			}
			if asJSON {
				return show.JSON(env.Out, r)
			}
			apiview.PrintAuditResult(env.Out, args[0], r)
			return nil
		},
		ValidArgsFunction: target.CompleteDesk(env),
	}
	cmd.Flags().StringVar(&head, "head", "", "a hash that the log had as its last: it has to be in it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was found as JSON")
	cmdline.CompleteFlag(cmd, "head", cobra.NoFileCompletions)
	return cmd
}

// openAudit opens the log of a workspace, or a file.
func openAudit(env *cmdenv.Env, op, word string) (*audit.Snapshot, error) {
	if strings.Contains(word, "/") {
		return audit.OpenFile(word)
	}
	if s, err := named.ReadRun(statedir.Path(env.Getenv), word); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return nil, err
		}
		if err := env.UnderNoCeiling(op, "run it without a ceiling"); err != nil { // it tells of all that was done there
			s.Close()
			return nil, err
		}
		return s, nil
	}
	if err := named.CheckName(word); err != nil {
		return nil, err
	}
	if err := env.Caller().StoppedSame(op, word); err != nil { // it tells of all that was done there
		return nil, err
	}
	s, err := named.OpenAudit(statedir.Path(env.Getenv), word)
	if err != nil {
		if _, no := os.Stat(word); no == nil {
			return nil, fmt.Errorf("%w; for the file of that name write ./%s", err, word)
		}
	}
	return s, err
}

// auditFilter is what of a log is shown.
type auditFilter struct {
	since          uint64
	kind, decision string
	json, follow   bool
}

func auditShowCommand(env *cmdenv.Env) *cobra.Command {
	f := &auditFilter{}
	cmd := &cobra.Command{
		Use:   "show NAME [flags]",
		Short: "Show the records of a workspace's audit log",
		Long: `Shows records, oldest first. With --follow it goes on with what comes, until it is
interrupted. It does not check them: carrel audit verify does. With --json each record
is printed with its hash, as JSON on a line of its own.

What a record is about may have been chosen by a program inside: it is escaped.
` + cmdline.PlainStatus,
		Example: "  carrel audit show dev\n  carrel audit show dev --kind approval\n  carrel audit show dev --decision refused --json\n  carrel audit show dev --since 120 --follow",
		Args:    cmdline.OneArg("a workspace or a file"),
		RunE:    func(cmd *cobra.Command, args []string) error { return showAudit(cmd.Context(), env, args[0], f) },

		ValidArgsFunction: target.CompleteDesk(env),
	}
	cmd.Flags().Uint64Var(&f.since, "since", 0, "only records after this number")
	cmd.Flags().StringVar(&f.kind, "kind", "", "only those of a kind: request, approval, denial, network, step, app, credential, control, workspace")
	cmd.Flags().StringVar(&f.decision, "decision", "", "only those decided so: allowed, refused, asked, approved, denied, expired")
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what comes")
	cmd.Flags().BoolVar(&f.json, "json", false, "print as JSON, one object a line")
	for flag, words := range map[string][]string{"kind": auditKinds, "decision": auditDecisions, "since": nil} {
		cmdline.CompleteFlag(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

var (
	auditKinds = []string{api.AuditRequest, api.AuditApproval, api.AuditDenial, api.AuditNetwork, api.AuditStep, api.AuditApp, api.AuditCredential, api.AuditControl, api.AuditWorkspace,
		api.AuditBegin, api.AuditRotated, api.AuditKilled, api.AuditTornOff, api.AuditLost, api.AuditClosed}
	auditDecisions = []string{api.DecisionAllowed, api.DecisionRefused, api.DecisionAsked, api.DecisionApproved, api.DecisionDenied, api.DecisionExpired}
)

func showAudit(ctx context.Context, env *cmdenv.Env, name string, f *auditFilter) error {
	if err := errors.Join(oneOfWords("kind", f.kind, auditKinds), oneOfWords("decision", f.decision, auditDecisions)); err != nil {
		return err
	}
	if !f.follow {
		return auditPiece(env, name, f, true)
	}
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	for first := true; ; first = false {
		if err := auditPiece(env, name, f, first); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(auditEye):
		}
	}
}

func oneOfWords(flag, word string, words []string) error {
	for _, w := range words {
		if word == w || word == "" {
			return nil
		}
	}
	return fmt.Errorf("--%s: there is no %.40q; want one of %s", flag, word, strings.Join(words, ", "))
}

// auditPiece shows what is there after f.since, and moves that on.
func auditPiece(env *cmdenv.Env, name string, f *auditFilter, first bool) error {
	s, err := openAudit(env, "audit show", name)
	if err != nil {
		return err
	}
	defer s.Close()
	broken, err := s.Each(f.since, func(line []byte, r api.AuditRecord) error {
		f.since = r.Seq
		if f.kind != "" && r.Kind != f.kind || f.decision != "" && r.Decision != f.decision {
			return nil
		}
		if f.json {
			_, err := env.Out.Write(show.PlainJSON(line))
			return err
		}
		apiview.PrintAuditRecord(env.Out, &r)
		return nil
	})
	if first && broken > 0 {
		fmt.Fprintf(env.Err, "carrel: %s no records; `carrel audit verify %s` says more\n", show.Count(broken, "line is", "lines are"), show.OneLine(name))
	}
	return err
}

func auditExportCommand(env *cmdenv.Env) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "export NAME [flags]",
		Short: "Copy the audit log of a workspace",
		Long: `Writes the whole log as one file that can be checked by itself, on any machine. Says on
standard error whether it holds and what its head is. Note the head elsewhere.

Exit status:
  0    it was copied, and holds
  1    it was copied, and does not hold
  125  carrel refused or went wrong`,
		Example: "  carrel audit export dev -o dev-audit.jsonl\n  carrel audit export dev | ssh logs 'cat > dev-audit.jsonl'",
		Args:    cmdline.OneArg("a workspace"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := openAudit(env, "audit export", args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			if err := copyAudit(env, s, file); err != nil {
				return err
			}
			r, err := s.Verify("")
			if err != nil {
				return err
			}
			if !r.OK {
				env.Status = 1
			}
			apiview.PrintAuditResult(env.Err, args[0], r)
			return nil
		},
		ValidArgsFunction: target.CompleteDesk(env),
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "a file that does not exist yet, instead of standard output")
	return cmd
}

func copyAudit(env *cmdenv.Env, s *audit.Snapshot, file string) error {
	if file == "" {
		return s.Copy(env.Out)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(s.Copy(f), f.Close())
}

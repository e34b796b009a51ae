package desktopcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/outfile"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

// desktopHelp ends the help of every command about a desktop.
const desktopHelp = `NAME is a workspace that was started with --display virtual. Its desktop is there from
the first use on.
` + cmdline.PlainStatus

// maxPicture bounds what comes from a desktop: the largest screen raw, or what can be
// copied.
const maxPicture = 512 << 20

// errShort is of a reply without what was asked for, as one of another version may be.
var errShort = errors.New("the workspace's answer lacks what was asked for\nhint: it may be of another version of carrel; start it anew")

// seeDesktop asks a workspace to look at its desktop. What comes besides the reply is
// read whole.
func seeDesktop(ctx context.Context, env *cmdenv.Env, name string, req *api.Desktop) (*api.DesktopReply, []byte, error) {
	return askDesktop(ctx, env, name, api.OpDesktopSee, req)
}

// doDesktop has a workspace act on its desktop.
func doDesktop(ctx context.Context, env *cmdenv.Env, name string, req *api.Desktop, files ...*os.File) (*api.DesktopReply, []byte, error) {
	r, data, err := askDesktop(ctx, env, name, api.OpDesktopDo, req, files...)
	if r != nil && r.Human != "" {
		fmt.Fprintf(env.Err, "carrel: you have taken over: %s\n", show.OneLine(r.Human))
	}
	return r, data, err
}

func askDesktop(ctx context.Context, env *cmdenv.Env, name, op string, req *api.Desktop, files ...*os.File) (*api.DesktopReply, []byte, error) {
	e, err := env.Caller().Named(name)
	if err != nil {
		return nil, nil, err
	}
	c, err := e.Open(ctx, api.Request{Op: op, Desktop: req}, files...)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	return desktopAnswer(c)
}

func desktopAnswer(c *supervisor.Conversation) (said *api.DesktopReply, data []byte, err error) {
	for {
		r, files, err := c.Next()
		for _, f := range files {
			if err == nil && data == nil {
				data, err = io.ReadAll(io.LimitReader(f, maxPicture+1))
			}
			f.Close()
		}
		if r.Desktop != nil {
			said = r.Desktop
		}
		if err != nil {
			return said, nil, err
		}
		if said != nil && said.Bytes != int64(len(data)) {
			return said, nil, fmt.Errorf("of %d bytes that were to come %d came", said.Bytes, len(data))
		}
		if !r.More {
			if said == nil {
				said = &api.DesktopReply{}
			}
			return said, data, nil
		}
	}
}

func screenshotCommand(env *cmdenv.Env) *cobra.Command {
	s := &api.Shot{}
	var file, area, fit string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "screenshot NAME [-o FILE] [flags]",
		Short: "Take a picture of a workspace's desktop",
		Long: `Writes a picture of the hidden desktop, of one of its windows, or of a part, to FILE.
Without FILE it goes to standard output where that is no terminal. The format follows FILE's ending: png, jpeg
(also jpg), raw (rows of blue, green, red and a byte without meaning).
` + desktopHelp,
		Example: `  carrel desktop screenshot dev -o now.png
  carrel desktop screenshot dev --window 0x600007 --fit 1280x800 -o window.jpeg
  carrel desktop screenshot dev --area 0,0,400,300 | display`,
		Args: cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if s.Area, err = areaOf(area); err != nil {
				return err
			}
			if fit != "" {
				if s.MaxWidth, s.MaxHeight, err = sizeOf("--fit", fit); err != nil {
					return err
				}
			}
			if s.Format == "" {
				s.Format = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
			}
			if s.Format == "jpg" {
				s.Format = "jpeg"
			}
			if file == "" && !asJSON && show.IsTerminal(env.Out) {
				return outfile.ErrPicture // before one is taken
			}
			said, data, err := seeDesktop(cmd.Context(), env, args[0], &api.Desktop{Shot: s})
			if err != nil {
				return err
			}
			if said.Picture == nil {
				return errShort
			}
			toFile := file != "" && file != "-"
			if toFile && !said.Picture.Unchanged || !toFile && !asJSON {
				err = outfile.Data(file, env.Out, data)
			}
			if err == nil && asJSON {
				err = show.JSON(env.Out, said)
			}
			return err
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write it to this file")
	cmd.Flags().StringVar(&s.Window, "window", "", "of this window, by its id")
	cmd.Flags().StringVar(&area, "area", "", "of this part: X,Y,WIDTH,HEIGHT")
	cmd.Flags().StringVar(&fit, "fit", "", "shrink it until it fits WIDTHxHEIGHT")
	cmd.Flags().BoolVar(&s.Cursor, "cursor", false, "with the pointer")
	cmd.Flags().StringVar(&s.Format, "format", "", "png, jpeg or raw")
	cmd.Flags().IntVar(&s.Quality, "quality", 0, "of jpeg, 1 to 100 (default 80)")
	cmd.Flags().StringVar(&s.Since, "since", "", "write nothing if the pixels are those of this token (--json tells it)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what it shows as JSON")
	cmdline.NotEmpty(cmd, "output", "window", "area", "fit", "format")
	return cmd
}

func screenCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON, still, changes bool
	var area string
	var quiet, timeout time.Duration
	cmd := &cobra.Command{
		Use:   "screen NAME [WIDTHxHEIGHT] [flags]",
		Short: "Tell or change the size of a desktop, or wait until it is still",
		Long: `Tells the size of the hidden desktop and where the pointer is; with WIDTHxHEIGHT changes the
size, up to that of its start. With --still waits until nothing has been painted for a
while, with --changes until something else is seen.
` + desktopHelp,
		Example: `  carrel desktop screen dev
  carrel desktop screen dev 1280x800
  carrel desktop screen dev --still 500ms --timeout 10s`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return fmt.Errorf("%q takes a workspace and perhaps a size, got %q\nhint: %s", cmd.CommandPath(), args, cmdline.Usage(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				w, h, err := sizeOf("the size", args[1])
				if err != nil {
					return err
				}
				_, _, err = doDesktop(cmd.Context(), env, args[0], &api.Desktop{Resize: &[2]int{w, h}})
				return err
			}
			part, err := areaOf(area)
			if err != nil {
				return err
			}
			if still = cmd.Flags().Changed("still"); still || changes {
				wait := &api.ScreenWait{Area: part, Changes: changes, Quiet: millis(quiet), Millis: millis(timeout)}
				_, _, err = seeDesktop(cmd.Context(), env, args[0], &api.Desktop{ScreenWait: wait})
				return err
			}
			size, _, err := seeDesktop(cmd.Context(), env, args[0], &api.Desktop{Size: true})
			if err != nil {
				return err
			}
			at, _, err := seeDesktop(cmd.Context(), env, args[0], &api.Desktop{Pointer: true})
			if err != nil {
				return err
			}
			if size.Size == nil || at.Pointer == nil {
				return errShort
			}
			if size.Pointer = at.Pointer; asJSON {
				return show.JSON(env.Out, size)
			}
			fmt.Fprintf(env.Out, "%dx%d, the pointer is at %d,%d\n", size.Size[0], size.Size[1], at.Pointer[0], at.Pointer[1])
			return nil
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().DurationVar(&quiet, "still", 0, "wait until nothing has been painted for so long")
	cmd.Flags().BoolVar(&changes, "changes", false, "wait until something else is seen")
	cmd.Flags().StringVar(&area, "area", "", "look only there: X,Y,WIDTH,HEIGHT")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "wait at most so long (default 30s)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print size and pointer as JSON")
	cmdline.OneOf(cmd, "still", "changes")
	return cmd
}

func recordCommand(env *cmdenv.Env) *cobra.Command {
	r := &api.Record{}
	var file string
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "record NAME -o FILE [flags]",
		Short: "Make a video of a desktop",
		Long: `Writes a video of the hidden desktop until it is interrupted (Ctrl-C), or for --for. The
format follows FILE's ending: mkv, mp4 or webm. It needs ffmpeg, which runs within the
desktop's walls.
` + desktopHelp,
		Example: `  carrel desktop record dev -o work.mkv
  carrel desktop record dev --for 30s --fps 20 -o demo.webm`,
		Args: cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return errors.New("-o FILE says where the video goes")
			}
			r.Format = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
			return recordDesktop(cmd.Context(), env, args[0], file, limit, r)
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write it to this file")
	cmd.Flags().IntVar(&r.FPS, "fps", 0, "frames a second, 1 to 60 (default 10)")
	cmd.Flags().DurationVar(&limit, "for", 0, "end it after so long")
	return cmd
}

// recordDesktop copies a video until it is enough: then what has been painted is still written.
func recordDesktop(ctx context.Context, env *cmdenv.Env, name, file string, limit time.Duration, r *api.Record) error {
	e, err := env.Caller().Named(name)
	if err != nil {
		return err
	}
	enough, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := e.Open(context.WithoutCancel(ctx), api.Request{Op: api.OpDesktopSee, Desktop: &api.Desktop{Record: r}})
	if err != nil {
		return err
	}
	defer c.Close()
	_, files, err := c.Next()
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return errors.New("no video comes")
	}
	video := files[0]
	defer video.Close()
	out, err := outfile.Open(file)
	if err != nil {
		return err
	}
	if limit > 0 {
		var cancel context.CancelFunc
		enough, cancel = context.WithTimeout(enough, limit)
		defer cancel()
	}
	go func() {
		<-enough.Done()
		_ = c.Say(api.Input{Text: "enough"})
	}()
	n, err := io.Copy(out, video)
	if err = errors.Join(err, out.Close()); err != nil { // nobody waits for what cannot be written
		if err = fmt.Errorf("-o %q: %w", file, cmdline.Cause(err)); n > 0 {
			err = fmt.Errorf("%w\nhint: what was recorded until then is there, %s", err, show.Size(n))
		} else {
			_ = os.Remove(file)
		}
		return err
	}
	if _, _, err = c.Next(); err == nil {
		fmt.Fprintf(env.Err, "carrel: %s has %s\n", show.QuoteIf(file), show.Size(n))
	}
	return err
}

package gui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"carrel/internal/api"
	xclient "carrel/internal/desktop"
	"carrel/internal/sandbox"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
)

// encoder makes videos. It reads what programs have painted, so it runs in the walls of
// the display.
const encoder = "/usr/bin/ffmpeg"

// recordEnd is how long the encoder may take for what it has been given.
const recordEnd = 10 * time.Second

// record writes a video to the caller, until the caller says that it is enough.
func (d *Desktop) record(ctx context.Context, c *xclient.Desktop, r *api.Record, call *supervisor.Call) error {
	if r.FPS == 0 {
		r.FPS = 10
	}
	if !installed(encoder) {
		return fmt.Errorf("recording needs %s, and it is not installed (Debian's package ffmpeg has it)", encoder)
	}
	s, err := d.running(ctx, false)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	frames, toEncoder, err := os.Pipe()
	if err != nil {
		return err
	}
	defer toEncoder.Close()
	defer frames.Close()
	video, fromEncoder, err := os.Pipe()
	if err != nil {
		return err
	}
	defer video.Close()
	defer fromEncoder.Close()
	enough, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // any line says so
		<-call.Inputs()
		cancel()
	}()
	// An encoder whose video nobody takes does not take frames either.
	defer context.AfterFunc(enough, func() {
		time.Sleep(recordEnd)
		toEncoder.Close()
	})()
	var id uint64
	started := false
	err = c.Frames(enough, r.FPS, toEncoder, func(width, height int) (err error) {
		args, err := xclient.FFmpegArgs(width, height, r.FPS, r.Format)
		if err != nil {
			return err
		}
		args = append([]string{encoder}, args...)
		if id, err = s.walls.Exec(sandbox.Command{Argv: args, Env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, Dir: "/tmp", Path: encoder, Session: true}, [3]*os.File{frames, fromEncoder, null}); err != nil {
			return err
		}
		started = true
		frames.Close()
		fromEncoder.Close()
		d.say(api.EventRecord, "begins, %d frames a second", r.FPS)
		err = call.Send(api.Reply{Desktop: &api.DesktopReply{Type: "video/" + r.Format, Size: &[2]int{width, height}}}, video)
		video.Close()
		return err
	})
	toEncoder.Close()
	if !started {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		exit, e := s.walls.Wait(id)
		if e == nil && exit.Code != 0 {
			e = fmt.Errorf("%s ended with status %d", encoder, exit.Code)
		}
		ended <- e
	}()
	select {
	case e := <-ended:
		return errors.Join(err, e)
	case <-time.After(recordEnd):
		_ = s.walls.Signal(id, unix.SIGKILL)
		return errors.Join(err, fmt.Errorf("%s does not end", encoder))
	}
}

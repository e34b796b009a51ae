package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"strconv"
	"time"

	"carrel/internal/picture"
)

// Frames writes the screen to w, fps times a second from 1 to 60, until the
// context ends: Raw pixels with the pointer, all frames of the size that the
// screen has at the start. size is told that size before anything is written,
// so that whoever reads can be started with FFmpegArgs. An error of size or of
// w ends it; that the context was cancelled is no error. Where nothing was
// painted the last frame is written again, so that the video's clock is the
// wall's: who reads slowly gets as many frames, of which fewer differ. A write
// that never returns is not ended by the context: close w for that.
func (d *screenWatch) Frames(ctx context.Context, fps int, w io.Writer, size func(width, height int) error) error {
	if fps < 1 || fps > 60 {
		return fmt.Errorf("recording: from 1 to 60 frames a second, not %d", fps)
	}
	width, height, err := d.Size(ctx)
	if err != nil {
		return err
	}
	if err := size(width, height); err != nil {
		return err
	}
	changed, stop, err := d.painted(ctx, image.Rectangle{})
	if err != nil {
		return err
	}
	defer stop()
	var last []byte
	var pointer image.Point
	start, written := time.Now(), 0
	for {
		now, err := d.Pointer(ctx)
		if err == nil && (last == nil || now != pointer || taken(changed)) {
			pointer = now
			last, err = d.frameOf(ctx, width, height)
		}
		if err != nil {
			return ended(ctx, err)
		}
		for due := int(time.Since(start)*time.Duration(fps)/time.Second) + 1; written < due; written++ {
			if _, err := w.Write(last); err != nil {
				return ended(ctx, fmt.Errorf("recording: %w", err))
			}
		}
		next := start.Add(time.Duration(written) * time.Second / time.Duration(fps))
		if err := d.sleep(ctx, time.Until(next), nil); err != nil {
			return ended(ctx, err)
		}
	}
}

// ended says that a recording that was ended has not failed.
func ended(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return err
}

func taken(s signal) bool {
	select {
	case <-s:
		return true
	default:
		return false
	}
}

// frameOf takes a picture of a fixed size: a screen that has become smaller
// leaves black, of a larger one the upper left part is taken.
func (d *screenWatch) frameOf(ctx context.Context, width, height int) ([]byte, error) {
	return do(ctx, d.display, "recording", func() ([]byte, error) {
		out := make([]byte, width*height*4)
		err := d.withPixels(Shot{Cursor: true}, func(f picture.Frame, _ image.Rectangle) error {
			if f.W == width {
				copy(out, f.Pix)
				return nil
			}
			for y := range min(f.H, height) {
				copy(out[y*width*4:(y+1)*width*4], f.Row(y))
			}
			return nil
		})
		return out, err
	})
}

// FFmpegArgs are the arguments for an ffmpeg that reads Frames from its standard input
// and writes a video to its standard output: format mkv or mp4 with H.264, webm with
// VP9; "" is mkv. Everything that players need is written as it goes, so that a
// recording that is cut off can be watched.
func FFmpegArgs(width, height, fps int, format string) ([]string, error) {
	args := []string{"-nostdin", "-hide_banner", "-loglevel", "error",
		"-f", "rawvideo", "-pixel_format", "bgr0", "-video_size", strconv.Itoa(width) + "x" + strconv.Itoa(height),
		"-framerate", strconv.Itoa(fps), "-i", "pipe:0", "-an"}
	// Players expect half the colours' resolution, so an even size.
	args = append(args, "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p")
	h264 := []string{"-c:v", "libx264", "-preset", "veryfast", "-crf", "26", "-g", strconv.Itoa(4 * fps)}
	switch format {
	case "", "mkv":
		args = append(append(args, h264...), "-f", "matroska")
	case "mp4":
		args = append(append(args, h264...), "-movflags", "+frag_keyframe+empty_moov+default_base_moof", "-f", "mp4")
	case "webm":
		args = append(args, "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-crf", "35", "-b:v", "0", "-f", "webm")
	default:
		return nil, fmt.Errorf("videos are mkv, mp4 or webm, not %.20q", format)
	}
	return append(args, "pipe:1"), nil
}

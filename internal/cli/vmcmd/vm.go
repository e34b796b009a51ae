// Package vmcmd holds the commands about the virtual machines of backend vm: vm and what is below it.
// They make what machines boot from. A machine itself needs no command: it is there as long as the
// run or workspace that it is for.
package vmcmd

import (
	"errors"
	"fmt"
	"os"

	"carrel/internal/advice"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/limacmd"
	"carrel/internal/cmdline"
	"carrel/internal/guestimage"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
func Commands() []cmdenv.Command { return []cmdenv.Command{{Name: "vm", Make: vmCommand}} }

func vmCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vm",
		Short: "Make what the virtual machines of backend vm boot from",
		Long: `A workspace with --backend vm has a virtual machine of its own while it runs, which is shown
this machine's system. These commands are about the image that such machines boot from.
` + cmdline.PlainStatus,
		Example: "  carrel vm build-image --kernel-deb linux-image-*-cloud-amd64_*.deb",
	}
	return cmdline.Group(cmd, buildImageCommand(env))
}

func buildImageCommand(env *cmdenv.Env) *cobra.Command {
	var deb string
	cmd := &cobra.Command{
		Use:   "build-image --kernel-deb FILE",
		Short: "Make the image of a package with a kernel",
		Long: `Makes the image that machines boot from, of one of Debian's packages with a kernel, and keeps it
in your cache. Nothing is installed or started, and root is not needed. The same package gives
the same image, whose digest is printed. ` + "`apt-get download`" + ` fetches a package:

  apt-get download $(apt-cache depends linux-image-cloud-amd64 | grep -o 'linux-image-[0-9].*')
` + cmdline.PlainStatus,
		Example: "  carrel vm build-image --kernel-deb linux-image-6.1.0-56-cloud-amd64_*.deb",
		Args:    cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := limacmd.Personal(env, "vm build-image"); err != nil {
				return err
			}
			dir := guestimage.Dir(env.Getenv)
			switch {
			case deb == "":
				return &advice.Error{Err: errors.New("no package is named"), Hint: "--kernel-deb FILE names one; see --help"}
			case dir == "":
				return errors.New("there is no cache to keep an image in: HOME is not set")
			}
			f, err := os.Open(deb)
			if err != nil {
				return err
			}
			defer f.Close()
			image, err := guestimage.Build(f)
			if err != nil {
				return fmt.Errorf("%s: %w", deb, err)
			}
			if err := image.Save(dir); err != nil {
				return err
			}
			fmt.Fprintln(env.Out, show.OneLine(image.Digest()))
			return nil
		},
	}
	cmd.Flags().StringVar(&deb, "kernel-deb", "", "the package, as linux-image-6.1.0-56-cloud-amd64_6.1.190-1_amd64.deb")
	return cmd
}

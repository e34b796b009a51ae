package guestinit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// build takes steps.
func (m *machine) build(steps []Step) error {
	for i := range steps {
		s := &steps[i]
		if err := m.take(s); err != nil && !s.Optional {
			return fmt.Errorf("making %s in the machine: %w", s.To, err)
		}
	}
	return nil
}

func (m *machine) take(s *Step) error {
	if err := os.MkdirAll(path.Dir(s.To), 0o755); err != nil {
		return err
	}
	switch s.Kind {
	case Bind:
		return m.bind(s)
	case Memory:
		options := fmt.Sprintf("mode=%o", s.Perm)
		if s.Own {
			options += fmt.Sprintf(",uid=%d,gid=%d", m.user, m.user)
		}
		return mountNew("tmpfs", s.To, options)
	case Overlay:
		return m.overlay(s.To)
	case Link:
		err := os.Symlink(s.From, s.To)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	case File:
		if err := os.WriteFile(s.To, s.Data, fs.FileMode(s.Perm)); err != nil {
			return err
		}
		if s.Own {
			return os.Chown(s.To, m.user, m.user)
		}
		return nil
	}
	return fmt.Errorf("there is no kind %q of step", s.Kind)
}

// bind shows what is served, or a file of the machine's own, at another path.
func (m *machine) bind(s *Step) error {
	from := s.From
	if !path.IsAbs(from) {
		from = path.Join(FilesDir, from)
	}
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(s.To); errors.Is(err, fs.ErrNotExist) {
		if st.IsDir() {
			err = os.Mkdir(s.To, 0o755)
		} else {
			err = os.WriteFile(s.To, nil, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if err := unix.Mount(from, s.To, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if !s.ReadOnly {
		return nil
	}
	return unix.Mount("", s.To, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
}

// overlay keeps changes of a directory in memory.
func (m *machine) overlay(at string) error {
	m.layers++
	dir := path.Join(ownDir, "layers", strconv.Itoa(m.layers))
	for _, part := range []string{"/upper", "/work"} {
		if err := os.MkdirAll(dir+part, 0o755); err != nil {
			return err
		}
	}
	if err := os.Chown(dir+"/upper", m.user, m.user); err != nil {
		return err
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", at, dir, dir)
	return unix.Mount("overlay", at, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options)
}

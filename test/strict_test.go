//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestSecretsStrict: with secrets strict no secret is read that comes during the run, in a
// directory where nothing is watched, whoever renames or links it. Without it one is.
func TestSecretsStrict(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, mode := range []string{"masked", "strict"} {
			w := newWorld(t, p)
			w.litter = true
			w.outsideSh("mkdir -p a/b; echo code > f; printf -- '-----BEGIN CERTIFICATE-----\\nx\\n' > a/cert.pem")
			cmd, done := w.command(w.bin, "run", "--secrets", mode, "--", "bash", "-c", `
				echo OWN=own > a/.env; cat a/.env f a/cert.pem; : > ready
				i=0; while [ ! -e over ]; do ((++i))
					[ -e a/b/.env ] && { cat a/b/.env; ln a/b/.env y$i; cat y$i; mv a/b/.env a/b/z$i; cat a/b/z$i; cat a/b/k.pem; [ $0 = strict ] && mv a/b vendor && cat vendor/.env; exec 3<> a/b/.env && cat <&3; }
				done 2> /dev/null; true`, mode), make(chan result, 1)
			go func() { done <- w.finish(cmd) }()
			for range 500 {
				if _, err := os.Stat(w.project + "/ready"); err == nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			for range 40 {
				w.must(os.WriteFile(w.project+"/a/b/new", []byte("SECRET=of-the-host\n"), 0o644))
				w.must(os.Rename(w.project+"/a/b/new", w.project+"/a/b/.env"))
				w.must(os.WriteFile(w.project+"/a/b/k.pem", []byte("-----BEGIN PRIVATE KEY-----\nof-the-host\n"), 0o644))
				time.Sleep(5 * time.Millisecond)
			}
			w.must(os.WriteFile(w.project+"/over", nil, 0o644))
			r := <-done
			for _, own := range []string{"OWN=own", "code", "BEGIN CERTIFICATE"} {
				if !strings.Contains(r.out, own) {
					t.Errorf("%s: what is the run's own cannot be read: no %q: %s", mode, own, r)
				}
			}
			if read := strings.Contains(r.out, "of-the-host"); read != (mode == "masked") {
				t.Errorf("%s: a secret that came was read: %v", mode, read)
			}
			if mode == "strict" && !strings.Contains(r.err, "secret: environment file") {
				t.Errorf("no refusal is told: %s", r)
			}
		}
	})
}

// TestSecretsStrictEmpty: what the host has begun to write, if its content decides, is not
// opened before the content is there. What the run begins itself is.
func TestSecretsStrictEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	script := `: > own.pem; { echo mine >> own.pem; cat <&4; } 4< own.pem
		: > ready; until [ -e k.pem ]; do sleep 0.01; done
		{ : > opened; until [ -e written ]; do sleep 0.01; done; cat <&4; } 4< k.pem || : > opened
		until [ -e written ]; do sleep 0.01; done`
	cmd, done := w.command(w.bin, "run", "--secrets", "strict", "--", "bash", "-c", script), make(chan result, 1)
	go func() { done <- w.finish(cmd) }()
	there := func(name string) func() bool {
		return func() bool { _, err := os.Stat(w.project + "/" + name); return err == nil }
	}
	eventually(t, "the run waits", there("ready"))
	w.write(w.project+"/k.pem", "")
	eventually(t, "it was opened, or not", there("opened"))
	w.write(w.project+"/k.pem", "-----BEGIN PRIVATE KEY-----\nof-the-host\n")
	w.write(w.project+"/written", "")
	if r := <-done; strings.Contains(r.out, "of-the-host") || r.out != "mine\n" || !strings.Contains(r.err, "it may become one") {
		t.Errorf("%s", r)
	}
}

// TestSecretsStrictAsked: who decides about it, and where it cannot be held.
func TestSecretsStrictAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.askedWrongly([]string{"secrets strict cannot be held", "--history off"}, "run", "--secrets", "strict", "--history", "off", "--", "true")
	w.askedWrongly([]string{"secrets strict cannot be held", "--nested full"}, "run", "--secrets", "strict", "--nested", "full", "--", "true")
	w.askedWrongly([]string{`"lax" is not known: strict or masked`}, "run", "--secrets", "lax", "--", "true")
	ceiling := w.write(w.home+"/ceiling.yaml", "secrets: strict\n")
	w.askedWrongly([]string{"masked", "ceiling.yaml"}, "run", "--permissions", ceiling, "--secrets", "masked", "--", "true")
	w.configured("secrets: strict\n")
	w.write(w.project+"/.env", "SECRET=s3cret\n")
	if r := w.carrel("run", "--", "sh", "-c", "cat .env; true"); strings.Contains(r.out, "s3cret") || !strings.Contains(r.err, "secret: environment file") || strings.Contains(r.err, "secret: secret") {
		t.Errorf("a secret that was there at the start: %s", r)
	}
	w.askedWrongly([]string{"secrets strict cannot be held"}, "run", "--history", "off", "--", "true")
}

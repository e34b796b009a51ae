package credentials

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"carrel/internal/fdpass"
	"carrel/internal/inside"
	"carrel/internal/keys"
	"carrel/internal/policy"
)

// keyTime bounds one request about a credential: a person may be asked first, and a
// helper outside may ask them too.
const keyTime = 4 * time.Minute

// requestTime bounds how long a request takes to come and its answer to be taken.
const requestTime = 10 * time.Second

// TakeAgent answers on the socket that the stage has made.
func (k *Keyring) TakeAgent(fd int) error {
	l, err := fdpass.Listener(fd)
	if err != nil {
		return fmt.Errorf("listening to the inside at %s: %w", k.c.Socket, err)
	}
	k.ServeAgent(l)
	return nil
}

// ServeAgent answers as the ssh agent on a listener.
func (k *Keyring) ServeAgent(l net.Listener) {
	if k.listener != nil {
		k.listener.Close() // of a start that is tried again
	}
	k.listener = l
	if err := k.openSocket(); err != nil {
		k.c.Note("no key of ssh can be used: %v", err)
	}
	k.running.Go(func() { k.agent.Serve(k.ctx, l) })
}

// errNoKeys is for workspaces that may use none.
var errNoKeys = errors.New("this workspace may use no credentials; the mapping credentials of the user's own configuration lists what may be used")

// Answer answers a request about a credential; what is needed follows its line.
func (k *Keyring) Answer(conn net.Conn, in *bufio.Reader, from *io.LimitedReader, req inside.Request) {
	reply, data := inside.Reply{}, []byte(nil)
	err := errNoKeys
	if k.works() {
		data, err = k.attend(conn, in, from, req, &reply)
	}
	if err != nil {
		reply, data = inside.Reply{Message: err.Error()}, nil
	} else {
		reply.OK, reply.Size = true, int64(len(data))
	}
	if json.NewEncoder(conn).Encode(reply) == nil {
		_, _ = conn.Write(data)
	}
}

// attend hears a request out before it takes one of the few slots, which somebody who
// announces bytes and sends none would hold.
func (k *Keyring) attend(conn net.Conn, in *bufio.Reader, from *io.LimitedReader, req inside.Request, reply *inside.Reply) ([]byte, error) {
	_ = conn.SetDeadline(time.Now().Add(requestTime))
	asked, err := follows(in, from, req.Size)
	if err != nil {
		return nil, err
	}
	select {
	case k.slots <- struct{}{}:
		defer func() { <-k.slots }()
	default:
		return nil, errors.New("too many ask for credentials at once")
	}
	if err := k.rate.Spend(); err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(keyTime + requestTime))
	ctx, cancel := context.WithTimeout(k.ctx, keyTime)
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() { // nothing more is said: this ends when who asked has gone
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	})
	data, err := k.give(ctx, req, asked, reply)
	_ = conn.SetReadDeadline(time.Now())
	watching.Wait()
	return data, err
}

// follows reads what comes behind a request.
func follows(in *bufio.Reader, from *io.LimitedReader, size int64) ([]byte, error) {
	if size < 0 || size > keys.MaxObject {
		return nil, fmt.Errorf("%d bytes are too many: at most %d", size, keys.MaxObject)
	}
	from.N = size // whatever is in the buffer already
	data, err := io.ReadAll(io.LimitReader(in, size))
	if err == nil && int64(len(data)) < size {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

func (k *Keyring) give(ctx context.Context, req inside.Request, asked []byte, reply *inside.Reply) ([]byte, error) {
	switch req.Operation {
	case inside.OpCredential:
		return k.login(ctx, asked)
	case inside.OpToken:
		host, token, err := k.token(ctx, req.Host, req.Remotes)
		reply.Host = host
		return []byte(token), err
	}
	signature, status, err := k.sign(ctx, asked)
	reply.Status = string(status)
	return signature, err
}

// unlisted refuses, and gives the reason with its hint, for whoever asked.
func (c *Config) unlisted(u keys.Use, why error) error {
	if told := new(toldError); errors.As(why, told) {
		return why
	}
	u.Why = why
	c.refuse(u)
	return fmt.Errorf("%w; %s", why, hintOf(u.Kind))
}

// login gives git user and password for a host.
func (k *Keyring) login(ctx context.Context, asked []byte) ([]byte, error) {
	u := keys.Use{Kind: policy.CredentialGit, Subject: "a host"}
	if len(asked) > keys.MaxCredential {
		return nil, k.c.unlisted(u, fmt.Errorf("the description is longer than %d bytes", keys.MaxCredential))
	}
	c, err := keys.ParseCredential(asked)
	var host policy.CredentialHost
	if err == nil {
		host, err = c.Target()
	}
	if err != nil {
		return nil, k.c.unlisted(u, err)
	}
	u.Subject = "https://" + strings.ToLower(c.Host)
	var got keys.Credential
	err = errors.New("the host is not listed")
	if u.Of = keys.Find(k.uses, policy.CredentialGit, host); u.Of != nil {
		got, err = k.filled(ctx, u, &c)
	}
	if err != nil {
		if told := new(toldError); errors.As(err, told) {
			return nil, err // a person's no is one for the host, by whatever way
		}
		if ctx.Err() != nil || keys.Find(k.uses, policy.CredentialGH, host) == nil {
			return nil, k.c.unlisted(u, err)
		}
		token := ""
		if _, token, err = k.token(ctx, host.Name, nil); err != nil {
			return nil, err
		}
		got = keys.Credential{Protocol: c.Protocol, Host: c.Host, Username: "x-access-token", Password: token}
		if c.Username != "" {
			got.Username = c.Username
		}
	}
	return got.Format()
}

// filled asks git outside.
func (k *Keyring) filled(ctx context.Context, u keys.Use, c *keys.Credential) (got keys.Credential, err error) {
	host, err := c.Target()
	if err != nil {
		return got, err
	}
	err = k.asked(ctx, u, func() (*keys.Program, error) { return k.c.gitFor(ctx, host.Name) }, func(git *keys.Program) error {
		got, err = git.Fill(ctx, c)
		return err
	})
	return got, err
}

// asked puts a use to a program outside. A person is not bothered with what cannot be,
// and what they leave time for is looked at again.
func (k *Keyring) asked(ctx context.Context, u keys.Use, find func() (*keys.Program, error), do func(*keys.Program) error) error {
	p, err := find()
	if err == nil {
		err = k.allowed(ctx, u)
	}
	if err == nil && u.Of.Ask {
		p, err = find()
	}
	if err == nil {
		err = do(p)
	}
	if err == nil {
		k.used(u)
	}
	return err
}

// gitFor finds git outside, and looks at all that decides what it starts for a host.
func (c *Config) gitFor(ctx context.Context, host string) (*keys.Program, error) {
	git, err := keys.FindProgram("git", c.Getenv)
	if err != nil {
		return nil, err
	}
	reads, err := git.GitReads(ctx, c.Home, host)
	if theirs := c.outOfReach("git", reads); theirs != nil {
		return nil, theirs
	}
	return git, err
}

// token gives the token of a host. Where none is named it is the first of some that is
// listed, or else the first that is.
func (k *Keyring) token(ctx context.Context, name string, some []string) (host, token string, err error) {
	u := keys.Use{Kind: policy.CredentialGH, Subject: "the usual host"}
	if first := keys.First(k.uses, policy.CredentialGH); name == "" && first != nil {
		name = first.Hosts[0]
		for _, likely := range some {
			if h, err := policy.ParseCredentialHost(likely); err == nil && keys.Find(k.uses, policy.CredentialGH, h) != nil {
				name = likely
				break
			}
		}
	}
	of, err := policy.ParseCredentialHost(name)
	if err != nil {
		return "", "", k.c.unlisted(u, err)
	}
	u.Subject = of.Name
	if u.Of = keys.Find(k.uses, policy.CredentialGH, of); u.Of == nil || of.Port != 0 {
		return "", "", k.c.unlisted(u, errors.New("the host is not listed"))
	}
	err = k.asked(ctx, u, func() (*keys.Program, error) { return k.c.program("gh") }, func(gh *keys.Program) error {
		token, err = gh.Token(ctx, of)
		return err
	})
	if err != nil {
		return "", "", k.c.unlisted(u, err)
	}
	return of.Name, token, nil
}

// sign has gpg outside sign a commit or a tag.
func (k *Keyring) sign(ctx context.Context, object []byte) (signature, status []byte, err error) {
	u := keys.Use{Kind: policy.CredentialSignGPG, Subject: "something"}
	if u.Of = keys.First(k.uses, policy.CredentialSignGPG); u.Of == nil {
		return nil, nil, k.c.unlisted(u, errors.New("no key is listed"))
	}
	u.Key = u.Of.Key
	kind, err := keys.ParseObject(object)
	if err != nil {
		return nil, nil, k.c.unlisted(u, err)
	}
	u.Subject = "a " + kind
	err = k.asked(ctx, u, func() (*keys.Program, error) { return k.c.program("gpg") }, func(gpg *keys.Program) error {
		signature, status, err = gpg.Sign(ctx, u.Of.Key, object)
		return err
	})
	if err != nil {
		return nil, nil, k.c.unlisted(u, err)
	}
	return signature, status, nil
}

// program finds gh or gpg outside.
func (c *Config) program(name string) (*keys.Program, error) {
	p, err := keys.FindProgram(name, c.Getenv)
	if err == nil {
		err = c.outOfReach(name, append(keys.OwnPlaces(name, c.Home, c.Getenv), p.Path))
	}
	return p, err
}

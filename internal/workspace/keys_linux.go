package workspace

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"carrel/internal/inside"
	"carrel/internal/keys"
	"carrel/internal/policy"
)

// keyTime bounds one request about a credential: a person may be asked first, and a
// helper outside may ask them too.
const keyTime = 4 * time.Minute

// takeAgent answers on the socket that the stage has made.
func (k *keyring) takeAgent(fd int) error {
	l, err := listenerOf(fd)
	if err != nil {
		return fmt.Errorf("listening to the inside at %s: %w", k.p.insideAgent(), err)
	}
	if k.listener != nil {
		k.listener.Close() // of a start that is tried again
	}
	k.listener = l
	if err := k.openSocket(); err != nil {
		k.p.note("no key of ssh can be used: %v", err)
	}
	k.running.Go(func() { k.agent.Serve(k.ctx, l) })
	return nil
}

// errNoKeys is for workspaces that may use none.
var errNoKeys = errors.New("this workspace may use no credentials; the mapping credentials of the user's own configuration lists what may be used")

// answer answers a request about a credential; what is needed follows its line.
func (k *keyring) answer(conn net.Conn, in *bufio.Reader, from *io.LimitedReader, req inside.Request) {
	reply, data := inside.Reply{}, []byte(nil)
	err := errNoKeys
	if k.works() {
		select {
		case k.slots <- struct{}{}:
			defer func() { <-k.slots }()
			_ = conn.SetDeadline(time.Now().Add(keyTime + insideDeadline))
			ctx, cancel := context.WithTimeout(k.ctx, keyTime)
			defer cancel()
			var asked []byte
			if asked, err = follows(in, from, req.Size); err == nil {
				err = k.rate.Spend()
			}
			if err == nil {
				data, err = k.give(ctx, req, asked, &reply)
			}
		default:
			err = errors.New("too many ask for credentials at once")
		}
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

func (k *keyring) give(ctx context.Context, req inside.Request, asked []byte, reply *inside.Reply) ([]byte, error) {
	switch req.Operation {
	case inside.OpCredential:
		return k.login(ctx, asked)
	case inside.OpToken:
		host, token, err := k.token(ctx, req.Host)
		reply.Host = host
		return []byte(token), err
	}
	signature, status, err := k.sign(ctx, asked)
	reply.Status = string(status)
	return signature, err
}

// unlisted refuses, and gives the reason with its hint, for whoever asked.
func (k *keyring) unlisted(u keys.Use, why error) error {
	u.Why = why
	k.refuse(u)
	return fmt.Errorf("%w; %s", why, hintOf(u.Kind))
}

// login gives git user and password for a host.
func (k *keyring) login(ctx context.Context, asked []byte) ([]byte, error) {
	u := keys.Use{Kind: policy.CredentialGit, Subject: "a host"}
	if len(asked) > keys.MaxCredential {
		return nil, k.unlisted(u, fmt.Errorf("the description is longer than %d bytes", keys.MaxCredential))
	}
	c, err := keys.ParseCredential(asked)
	var host policy.CredentialHost
	if err == nil {
		host, err = c.Target()
	}
	if err != nil {
		return nil, k.unlisted(u, err)
	}
	u.Subject = "https://" + strings.ToLower(c.Host)
	var got keys.Credential
	err = errors.New("the host is not listed")
	if u.Of = keys.Find(k.uses, policy.CredentialGit, host); u.Of != nil {
		got, err = k.filled(ctx, u, &c)
	}
	if err != nil {
		by := keys.Find(k.uses, policy.CredentialGH, host)
		if by == nil {
			if told := new(toldError); errors.As(err, told) {
				return nil, err
			}
			return nil, k.unlisted(u, err)
		}
		token := ""
		if _, token, err = k.token(ctx, host.Name); err != nil {
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
func (k *keyring) filled(ctx context.Context, u keys.Use, c *keys.Credential) (keys.Credential, error) {
	if err := k.allowed(ctx, u); err != nil {
		return keys.Credential{}, err
	}
	git, err := keys.FindProgram("git", k.p.getenv)
	if err != nil {
		return keys.Credential{}, err
	}
	reads, err := git.GitReads(ctx, k.p.place.home)
	if err != nil {
		return keys.Credential{}, err
	}
	if err := k.outOfReach("git", reads); err != nil {
		return keys.Credential{}, err
	}
	return git.Fill(ctx, c)
}

// token gives the token of a host, by default of the first that is listed.
func (k *keyring) token(ctx context.Context, name string) (host, token string, err error) {
	u := keys.Use{Kind: policy.CredentialGH, Subject: "the usual host"}
	if name == "" {
		if first := keys.First(k.uses, policy.CredentialGH); first != nil {
			name = first.Hosts[0]
		}
	}
	of, err := policy.ParseCredentialHost(name)
	if err != nil {
		return "", "", k.unlisted(u, err)
	}
	u.Subject = of.Name
	if u.Of = keys.Find(k.uses, policy.CredentialGH, of); u.Of == nil || of.Port != 0 {
		return "", "", k.unlisted(u, errors.New("the host is not listed"))
	}
	if err := k.allowed(ctx, u); err != nil {
		return "", "", err
	}
	gh, err := k.program("gh")
	if err == nil {
		token, err = gh.Token(ctx, of)
	}
	if err != nil {
		return "", "", k.unlisted(u, err)
	}
	return of.Name, token, nil
}

// sign has gpg outside sign a commit or a tag.
func (k *keyring) sign(ctx context.Context, object []byte) (signature, status []byte, err error) {
	u := keys.Use{Kind: policy.CredentialSignGPG, Subject: "something"}
	if u.Of = keys.First(k.uses, policy.CredentialSignGPG); u.Of == nil {
		return nil, nil, k.unlisted(u, errors.New("no key is listed"))
	}
	u.Key = u.Of.Key
	kind, err := keys.ParseObject(object)
	if err != nil {
		return nil, nil, k.unlisted(u, err)
	}
	u.Subject = "a " + kind
	if err := k.allowed(ctx, u); err != nil {
		return nil, nil, err
	}
	gpg, err := k.program("gpg")
	if err == nil {
		signature, status, err = gpg.Sign(ctx, u.Of.Key, object)
	}
	if err != nil {
		return nil, nil, k.unlisted(u, err)
	}
	return signature, status, nil
}

// program finds gh or gpg outside.
func (k *keyring) program(name string) (*keys.Program, error) {
	p, err := keys.FindProgram(name, k.p.getenv)
	if err == nil {
		err = k.outOfReach(name, keys.OwnPlaces(name, k.p.place.home, k.p.getenv))
	}
	return p, err
}

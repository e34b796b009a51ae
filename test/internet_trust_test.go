//go:build linux

package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// authority signs a certificate for every name that a client asks for.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	mu   sync.Mutex
	made map[string]*tls.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{made: make(map[string]*tls.Certificate)}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := certificate("Carrel Test Authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func certificate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// config is what a server of these tests speaks TLS with.
func (a *authority) config() *tls.Config {
	return &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		name := h.ServerName
		if name == "" {
			name, _, _ = net.SplitHostPort(h.Conn.LocalAddr().String())
		}
		return a.leaf(name)
	}}
}

func (a *authority) leaf(name string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.made[name]; c != nil {
		return c, nil
	}
	template := certificate(name)
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	a.made[name] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return a.made[name], nil
}

// pem is what OpenSSL, GnuTLS, Go and Node trust.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// javaStore is what Java trusts: a store of its own form, version 2, with one
// entry, closed by a digest that is salted with the usual password.
func (a *authority) javaStore() []byte {
	var b bytes.Buffer
	word := func(v uint32) { b.Write(binary.BigEndian.AppendUint32(nil, v)) }
	text := func(s string) {
		b.Write(binary.BigEndian.AppendUint16(nil, uint16(len(s))))
		b.WriteString(s)
	}
	word(0xfeedfeed)
	word(2) // version
	word(1) // entries
	word(2) // a trusted certificate
	text("test")
	b.Write(binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMilli())))
	text("X.509")
	word(uint32(len(a.cert.Raw)))
	b.Write(a.cert.Raw)
	sum := sha1.New()
	for _, c := range "changeit" {
		sum.Write([]byte{0, byte(c)})
	}
	sum.Write([]byte("Mighty Aphrodite"))
	sum.Write(b.Bytes())
	return append(b.Bytes(), sum.Sum(nil)...)
}

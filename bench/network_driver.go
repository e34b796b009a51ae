package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	manyStreams = 64
	dialers     = 16   // connections that are made at once
	pings       = 2000 // round trips of one run
	window      = time.Second
)

// newTLSServer listens on loopback and does what a client's first byte asks:
// 'd' sends without end, 'e' sends everything back.
func newTLSServer() (net.Listener, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		return nil, fmt.Errorf("a TLS server on loopback: %w", err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveTLS(c)
		}
	}()
	return l, nil
}

func serveTLS(c net.Conn) {
	defer c.Close()
	var ask [1]byte
	if _, err := io.ReadFull(c, ask[:]); err != nil {
		return
	}
	if ask[0] == 'e' {
		_, _ = io.Copy(c, c)
		return
	}
	for block := make([]byte, 64<<10); ; {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// driveNetwork is what runs inside: it does one job with the server, by a proxy
// if one is named, and prints one number, or two for latency.
func driveNetwork(w io.Writer, kind, server, proxy string) error {
	var got []float64
	var err error
	switch kind {
	case "stream":
		got, err = receive(1, server, proxy)
	case "streams":
		got, err = receive(manyStreams, server, proxy)
	case "connections":
		got, err = connectOften(server, proxy)
	case "latency":
		got, err = pingOften(server, proxy)
	case "hold":
		got, err = hold(server, proxy)
	default:
		return fmt.Errorf("-net %q: want stream, streams, connections, latency or hold", kind)
	}
	if err != nil {
		return fmt.Errorf("%s to %s by %q: %w", kind, server, proxy, err)
	}
	_, err = fmt.Fprintln(w, strings.Trim(fmt.Sprint(got), "[]"))
	return err
}

// dialTLS connects, up to the end of the handshake.
func dialTLS(server, proxy string) (net.Conn, error) {
	to := server
	if proxy != "" {
		to = proxy
	}
	c, err := net.DialTimeout("tcp", to, 10*time.Second)
	if err != nil {
		return nil, err
	}
	if proxy != "" {
		err = tunnel(c, server)
	}
	secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true}) // the server is this program, its key a moment old
	if err == nil {
		err = secure.Handshake()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return secure, nil
}

// tunnel asks a proxy for a connection.
func tunnel(c net.Conn, server string) error {
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", server); err != nil {
		return err
	}
	for r, first := bufio.NewReaderSize(c, 16), true; ; first = false {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		if first && !strings.Contains(line, " 200") {
			return fmt.Errorf("the proxy says %q", strings.TrimSpace(line))
		}
		if strings.TrimSpace(line) == "" {
			return nil
		}
	}
}

// receive counts what comes by n streams in the window, in MiB a second.
func receive(n int, server, proxy string) ([]float64, error) {
	var total atomic.Int64
	var all sync.WaitGroup
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
		all.Wait()
	}()
	for range n {
		c, err := dialTLS(server, proxy)
		if err != nil {
			return nil, err
		}
		conns = append(conns, c)
	}
	for _, c := range conns { // when all are there: what flows would hold a handshake up
		if err := ask(c, 'd'); err != nil {
			return nil, err
		}
		all.Go(func() {
			for block := make([]byte, 64<<10); ; {
				k, err := c.Read(block)
				total.Add(int64(k))
				if err != nil {
					return
				}
			}
		})
	}
	time.Sleep(window / 5)
	before, start := total.Load(), time.Now()
	time.Sleep(window)
	return []float64{float64(total.Load()-before) / (1 << 20) / time.Since(start).Seconds()}, nil
}

// connectOften makes connections for the window, and counts them by the second.
func connectOften(server, proxy string) ([]float64, error) {
	var count atomic.Int64
	var all sync.WaitGroup
	problems := make(chan error, dialers)
	start := time.Now()
	for range dialers {
		all.Go(func() {
			for time.Since(start) < window {
				if err := oneByte(server, proxy); err != nil {
					problems <- err
					return
				}
				count.Add(1)
			}
		})
	}
	all.Wait()
	select {
	case err := <-problems:
		return nil, err
	default:
		return []float64{float64(count.Load()) / time.Since(start).Seconds()}, nil
	}
}

func oneByte(server, proxy string) error {
	c, err := dialTLS(server, proxy)
	if err != nil {
		return err
	}
	defer c.Close()
	return errors.Join(ask(c, 'e'), ping(c))
}

// ask says what the server is wanted for.
func ask(c net.Conn, what byte) error {
	_, err := c.Write([]byte{what})
	return err
}

func ping(c net.Conn) error {
	b := [1]byte{'x'}
	if _, err := c.Write(b[:]); err != nil {
		return err
	}
	_, err := io.ReadFull(c, b[:])
	return err
}

// pingOften gives median and 99th percentile of round trips, in microseconds.
func pingOften(server, proxy string) ([]float64, error) {
	c, err := dialTLS(server, proxy)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := ask(c, 'e'); err != nil {
		return nil, err
	}
	var took []float64
	for range pings {
		start := time.Now()
		if err := ping(c); err != nil {
			return nil, err
		}
		took = append(took, float64(time.Since(start).Nanoseconds())/1000)
	}
	slices.Sort(took)
	return []float64{quantile(took, 0.5), quantile(took, 0.99)}, nil
}

// hold keeps streams open and quiet for a while.
func hold(server, proxy string) ([]float64, error) {
	for range manyStreams {
		c, err := dialTLS(server, proxy)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		if err := errors.Join(ask(c, 'e'), ping(c)); err != nil {
			return nil, err
		}
	}
	time.Sleep(2 * window)
	return []float64{manyStreams}, nil
}

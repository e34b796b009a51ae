package xfilter

import (
	"io"
	"net"
	"testing"
)

// The same work on the server itself and through the filter, in one run.

func bench(b *testing.B, run func(b *testing.B, c *client)) {
	w := newWorld(b)
	b.Run("direct", func(b *testing.B) { run(b, openAt(b, w.real, w.cookie, false)) })
	b.Run("filter", func(b *testing.B) { run(b, w.open(false)) })
	w.filter.SetActive(true)
	b.Run("filter active", func(b *testing.B) { run(b, w.open(false)) })
}

// BenchmarkRoundTrip is one question and its answer.
func BenchmarkRoundTrip(b *testing.B) {
	bench(b, func(b *testing.B, c *client) {
		for b.Loop() {
			c.sync()
		}
	})
}

// BenchmarkSmallRequests draws points, 2,000 in one write, as Xlib's buffer does.
func BenchmarkSmallRequests(b *testing.B) {
	bench(b, func(b *testing.B, c *client) {
		win := c.window(0, 0, 200, 200, 0)
		c.next++
		gc := c.base + c.next
		c.send(55, 0, gc, win, 0)
		const n = 2000
		var all []byte
		for range n {
			all = append(all, c.req(64, 0, win, gc, uint16(5), uint16(5))...)
		}
		b.SetBytes(int64(len(all)))
		for b.Loop() {
			c.conn.Write(all)
			c.seq += n
			c.sync()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/request")
	})
}

// BenchmarkPutImage sends a picture of 1280x800, four megabytes.
func BenchmarkPutImage(b *testing.B) {
	bench(b, func(b *testing.B, c *client) {
		op := c.extension("BIG-REQUESTS")
		c.call(op, 0)
		win := c.window(0, 0, 1280, 800, 0)
		c.next++
		gc := c.base + c.next
		c.send(55, 0, gc, win, 0)
		short := c.req(72, 2, win, gc, uint16(1280), uint16(800), uint16(0), uint16(0), byte(0), byte(24), uint16(0))
		picture := make([]byte, 0, len(short)+4+1280*800*4)
		picture = append(append(picture, short[:4]...), 0, 0, 0, 0)
		picture = append(picture, short[4:]...)
		picture = picture[:cap(picture)]
		c.order.put16(picture[2:], 0)
		c.order.put32(picture[4:], uint32(len(picture)/4))
		b.SetBytes(int64(len(picture)))
		for b.Loop() {
			c.conn.Write(picture)
			c.seq++
			if !c.sync() {
				b.Fatal("the connection ended")
			}
		}
	})
}

// BenchmarkGetImage reads it.
func BenchmarkGetImage(b *testing.B) {
	bench(b, func(b *testing.B, c *client) {
		ask := c.req(73, 2, c.root, uint16(0), uint16(0), uint16(1280), uint16(800), ^uint32(0))
		head := make([]byte, messageSize)
		for b.Loop() {
			c.conn.Write(ask)
			c.seq++
			io.ReadFull(c.conn, head)
			n := 4 * int64(c.order.u32(head[4:]))
			b.SetBytes(n)
			io.CopyN(io.Discard, c.conn, n)
		}
	})
}

// BenchmarkConnect is a whole connection.
func BenchmarkConnect(b *testing.B) {
	bench(b, func(b *testing.B, c *client) {
		b.StopTimer()
		at, cookie := c.conn.RemoteAddr().String(), c.cookie
		b.StartTimer()
		for b.Loop() {
			conn, err := net.Dial("unix", at)
			if err != nil {
				b.Fatal(err)
			}
			conn.Write(offer{name: cookieName, data: cookie}.request())
			if _, _, err := readWelcome(conn, false); err != nil {
				b.Fatal(err)
			}
			conn.Close()
		}
	})
}

// BenchmarkDecide is the filter's own part of a request, without the kernel.
func BenchmarkDecide(b *testing.B) {
	c := bare(false, true)
	var stream []byte
	for range 1000 {
		stream = append(stream, 64, 0, 4, 0, 1, 0, 0x40, 0, 2, 0, 0x40, 0, 5, 0, 5, 0)
	}
	for b.Loop() {
		c.requests.pass(stream)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/request")
}

curl -s https://api.example.com/a
curl -s http://api.example.com/b
curl -s --noproxy '*' https://api.example.com/c
curl -s --socks5-hostname 198.18.0.1:3128 --noproxy none http://api.example.com/d
curl -s https://other.example.com/
curl -s --noproxy '*' https://dns.example.com/
curl -s http://no.api.example.com/
curl -s http://169.254.169.254/latest
curl -s https://gone.example.com/
true

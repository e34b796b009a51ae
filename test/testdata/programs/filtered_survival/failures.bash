curl -sS -m 30 -o /dev/null -w 'hang %{http_connect} %{time_total}\n' https://hang.example.com/ 2>/dev/null &
curl -sS -m 30 -o /dev/null -w 'hang %{http_code} %{time_total}\n' http://hang.example.com/ 2>/dev/null &
for i in 1 2 3; do curl -sS -m 3 https://api.example.com/; done
curl -sS -m 3 -o /dev/null -w 'gone %{http_connect} %{time_total}\n' https://gone.example.com/ 2>/dev/null
curl -sS -m 3 -o /dev/null -w 'nobody %{http_connect} %{time_total}\n' https://nobody.example.com:7/ 2>/dev/null
curl -sS -m 3 -o /dev/null https://api.example.com/half; echo half $?
curl -sS -m 3 -o /dev/null http://api.example.com/half; echo half $?
wait

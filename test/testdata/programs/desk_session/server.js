const http=require("http"),fs=require("fs");let n=0;
http.createServer((q,a)=>{n++;fs.writeFileSync("hits",String(n));a.end(fs.readFileSync("page.txt"))}).listen(8123,"127.0.0.1",()=>console.log("listens"))

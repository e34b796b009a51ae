const crypto = require("crypto"), os = require("os")
const key = crypto.scryptSync("gemini-cli-oauth", os.hostname() + "-" + os.userInfo().username + "-gemini-cli", 32)
const iv = crypto.randomBytes(12), cipher = crypto.createCipheriv("aes-256-gcm", key, iv)
const entry = { serverName: "default-api-key", token: { accessToken: "stored-key", tokenType: "ApiKey" }, updatedAt: 1 }
const text = cipher.update(JSON.stringify({ "gemini-cli-api-key": { "default-api-key": JSON.stringify(entry) } }), "utf8", "hex") + cipher.final("hex")
console.log([iv.toString("hex"), cipher.getAuthTag().toString("hex"), text].join(":"))

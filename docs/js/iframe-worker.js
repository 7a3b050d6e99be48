// A stand-in for Worker where there is none: browsers refuse workers to pages from file://.
//
// The search of this site lives in a worker. Here it lives in a hidden iframe instead, whose
// window gets the three things that a worker's script expects: messages in, `postMessage` out,
// and `importScripts`. The theme looks for the name `IFrameWorker` to find its own base path.
if (location.protocol === "file:") {
  window.IFrameWorker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.url = url
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = (this.inside = frame.contentWindow)
      const load = src =>
        new Promise((resolve, reject) => {
          const script = inside.document.createElement("script")
          script.src = src
          script.onload = resolve
          script.onerror = () => reject(new Error(`cannot load ${src}`))
          inside.document.body.append(script)
        })
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...urls) =>
        urls.reduce((done, each) => done.then(() => load(each)), Promise.resolve())
      this.ready = load(url)
    }

    postMessage(data) {
      this.ready.then(() =>
        this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }))
      )
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
  window.Worker = window.IFrameWorker
}

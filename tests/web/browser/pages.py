"""Every page of the workbench, with something on it."""

PAGES = {
    "inbox": "/inbox",
    "inbox of decided ones": "/inbox?show=decided",
    "bulk accept": "/inbox/accept",
    "places": "/inbox/place?precision=0.8",
    "decide": "/decide",
    "taxonomy": "/taxonomy",
    "a category": "/taxonomy?at=place.shore.fishing",
    "like": "/like",
    "search": "/search",
    "search with answers": "/search?q=bees",
    "history": "/history",
    "progress": "/progress",
    "agreement": "/progress/agreement",
    "files": "/files",
    "settings": "/settings",
    "meaning": "/settings/meaning",
    "search order": "/settings/search",
    "links": "/settings/search/links",
    "nowhere": "/nowhere",
}
